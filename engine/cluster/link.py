"""The connection to the journal servers: an event loop in a thread of its own, and calls into it from any thread."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

import uvloop
from nats.aio.client import Client as NatsClient
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import StreamConfig
from nats.js.errors import APIError, NotFoundError

from dex.engine.cluster.choice import Choice
from dex.engine.cluster.natsclient import Client
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.settings import hide_credentials
from dex.wcl.errors import Refused, Unavailable

R = TypeVar("R")

LINK_ERRORS = (TimeoutError, NatsError, OSError)
"""What calls of the journal servers raise where nobody answers."""

_log = logging.getLogger("dex.cluster")
_UNAVAILABLE = 10008
_ALONE = 10074
_CONNECT_SECONDS = 10.0
_HEADER_BYTES = 1024
_REST_SECONDS = 0.2
_CLOSE_SECONDS = 5.0
# A change of servers is no outage, and while most of them are lost it is tried again and again.
_CHANGE_SECONDS = 3.0
_MOVE_SECONDS = 0.01


def in_words(error: BaseException) -> str:
    """Say what an error of `LINK_ERRORS` means; the client library's own texts are for those who know it."""
    if isinstance(error, APIError):
        if error.err_code == _ALONE:
            return "one runs alone, and three are needed that know each other"
        return error.description if error.description and error.err_code != _UNAVAILABLE else "there is no leader"
    if isinstance(error, NatsError):
        return (
            "no answer in time"
            if isinstance(error, TimeoutError)
            else "no server can be reached, or there is no leader"
        )
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or "no answer in time"


class Link:
    """One connection, kept up by itself. `loop` runs what the parts of a node do on it."""

    def __init__(
        self,
        servers: Sequence[str],
        name: str,
        thread: str = "dex-link",
        *,
        is_told: bool = True,
        server_names: dict[str, str] | None = None,
    ) -> None:
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._servers = list(servers)
        self._name = name
        self._is_told = is_told
        self._choice = Choice({} if server_names is None else server_names)
        self._thread = threading.Thread(target=self.loop.run_forever, name=thread, daemon=True)
        self._thread.start()
        self.nc: Client
        self.js: JetStreamContext

    def beside(self, thread: str) -> "Link":
        """Give another connection to the same servers, with a thread of its own of this name.

        Where it is lost, only what is missed is told.
        """
        return Link(self._servers, self._name, thread, is_told=False, server_names=self._choice.names)

    @property
    def server(self) -> str:
        """The name of the server that it is connected to, or was last."""
        return self.nc.server_name

    @property
    def most_bytes(self) -> int:
        """How many bytes fit into a message beside its headers."""
        return self.nc.max_payload - _HEADER_BYTES

    @property
    def where(self) -> str:
        """Give the addresses of the journal servers, as they may be shown."""
        return ", ".join(hide_credentials(server) for server in self._servers)

    def open(self) -> None:
        """Connect.

        Raises:
            Unavailable: none of the servers answers.
            Refused: they do not know the credentials.
        """
        self.call(self._connect(), _CONNECT_SECONDS + 5)

    async def _connect(self) -> None:
        client = Client()
        refused = asyncio.Event()
        outage = Outage("journal servers", _CHANGE_SECONDS)

        async def connected() -> None:
            outage.is_over()
            self._take_note(client)

        async def told(error: Exception) -> None:
            words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            what = hide_credentials(words or type(error).__name__)
            if client.is_connected or not self._is_told:
                _log.debug("journal servers: %s", what)  # a message that was lost is asked for again
            else:
                outage.goes_on(f"no connection: {what}")
            if "authorization" in str(error).lower():
                refused.set()

        connecting = asyncio.create_task(
            client.connect(
                servers=self._servers,
                name=self._name,
                error_cb=told,
                reconnected_cb=connected,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.1,  # type: ignore[arg-type]  # it is slept for, whatever it is
                ping_interval=1,
                max_outstanding_pings=2,
                # A buffer would send what its caller has given up already.
                pending_size=0,
                connect_timeout=2,
                reconnect_to_server_handler=self._choice,
            )
        )
        refusal = asyncio.create_task(refused.wait())
        await asyncio.wait([connecting, refusal], timeout=_CONNECT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        refusal.cancel()
        if not connecting.done():
            connecting.cancel()
            if refused.is_set():
                found = [server for server in self._servers if await _refuses(server)] or self._servers
                raise Refused(
                    f"the journal servers refuse the credentials: {', '.join(map(_who, found))}", "check --cluster"
                )
        try:
            await connecting
        except (asyncio.CancelledError, TimeoutError, OSError, NatsError) as error:
            raise Unavailable(
                f"no journal server answers at {self.where}", "check --cluster, and that nats-server runs there"
            ) from error
        self._take_note(client)
        self.nc = client
        self.js = client.jetstream(timeout=2)

    def _take_note(self, client: Client) -> None:
        if client.connected_url is not None:
            self._choice.found(client.connected_url.netloc, client.server_name)

    async def move(self, to: str = "") -> None:
        """Connect to the server of this name, or to another than this one, where there is such.

        Where the one of the name is not reached, to another, without trying again: that takes some seconds each time.
        """
        self._choice.wanted = to
        for _ in self._servers:
            if self.nc.connected_url is None:
                return  # it looks for one already
            is_tried = self._choice.knows(to) and self.server != to
            _log.debug("leaving journal server %s", self.server)
            await self.nc.force_reconnect()
            while not self.nc.is_connected:
                await asyncio.sleep(_MOVE_SECONDS)
            if not to or self.server == to or is_tried:
                return

    async def make_stream(self, wanted: StreamConfig) -> bool:
        """Make a stream where there is none of its name; tell whether there was none."""
        try:
            await self.js.stream_info(str(wanted.name))
        except NotFoundError:
            await self.js.add_stream(wanted)
            return True
        return False

    def submit(self, work: Coroutine[Any, Any, R]) -> "Future[R]":
        """Begin some work on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call(self, work: Coroutine[Any, Any, R], seconds: float | None) -> R:
        """Do some work on the loop and wait for it.

        Raises:
            Unavailable: it is not done in time.
        """
        future = self.submit(work)
        try:
            return future.result(seconds)
        except TimeoutError as error:
            if future.done():
                raise  # the work's own
            future.cancel()
            raise Unavailable(
                f"the journal servers have not answered within {seconds:g} s", "try again later"
            ) from error

    def insist(self, work: Callable[[], Coroutine[Any, Any, R]], seconds: float) -> R:
        """Do some work as often as it takes: what others are just making has no leader yet.

        Raises:
            Unavailable: it is not done in time.
        """
        return self.call(_insist(work, time.monotonic() + seconds), seconds + 5)

    def close(self, seconds: float | None = _CLOSE_SECONDS) -> None:
        """Close the connection, give up what is not done yet, and end the thread.

        Raises:
            Unavailable: that is not done in time; None is for as long as it takes.
        """
        if not self._thread.is_alive():
            return
        try:
            self.call(self._close(), seconds)
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(_CLOSE_SECONDS)
            if not self._thread.is_alive():
                # The client library may leave a lost connection open, with which uvloop's loop cannot be closed.
                with suppress(OSError):
                    self.loop.close()

    async def _close(self) -> None:
        if hasattr(self, "nc"):
            await self.nc.close()
        tasks = left = asyncio.all_tasks() - {asyncio.current_task()}
        while left:
            # The client library makes an error of its closed connection of a cancellation, after which one goes on.
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=_REST_SECONDS)
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.loop.shutdown_default_executor()


async def _refuses(server: str) -> bool:
    """Tell whether a server does not know the credentials that its address has."""
    client = NatsClient()
    try:
        await client.connect(server, allow_reconnect=False, connect_timeout=2, error_cb=_untold)
    except LINK_ERRORS as error:
        return "authorization" in str(error).lower()
    finally:
        await client.close()
    return False


async def _untold(_error: Exception) -> None:
    return


def _who(server: str) -> str:
    user = urlsplit(server).username
    return f"{hide_credentials(server)} {f'user {user!r}' if user else 'whoever has none'}"


async def _insist(work: Callable[[], Coroutine[Any, Any, R]], until: float) -> R:
    while True:
        try:
            return await work()
        except LINK_ERRORS as error:
            if time.monotonic() > until:
                raise Unavailable(
                    f"the journal servers do not answer: {in_words(error)}", "see that they run, and their logs"
                ) from error
            await asyncio.sleep(_REST_SECONDS)
