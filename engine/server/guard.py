"""Connections that hold their ground against clients that are slow, idle, many or hostile (spec: K-02).

A connection works while a request that has arrived whole is being answered. Otherwise it waits for its client: for a
request, for the rest of one, or for an answer to be read. What waits has a deadline, and is closed for the sake of new
connections when there are too many, the one that has waited longest first.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterator
from enum import Enum
from itertools import islice
from types import NoneType
from typing import Any

import httptools
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from dex.engine.server.limits import HeadTooLarge, Limits, TooSlow
from dex.engine.server.responses import raw_response
from dex.wcl.errors import DexError, InputError

_log = logging.getLogger("dex.server")
_NEVER = float("inf")
# Closing thousands in one go would keep everybody else waiting.
_AT_ONCE = 100
_LAST_WORDS_SECONDS = 2.0
# A client that sends too much is read on for this many times the limit, so that it gets to see its answer.
_MOST_DROPPED = 4
_BODY_HEADERS = (b"content-length", b"transfer-encoding")

CONNECTION = "dex.connection"
"""The key of a scope under which its connection is."""


class Connections:
    """The open connections, up to `most`, and those of them that wait for their client, the longest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[Connection] = set()
        self._waiting: OrderedDict[Connection, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator["Connection"]:
        return iter(tuple(self._open))

    def add(self, connection: "Connection") -> None:
        """Keep a new connection, which waits; where there are too many, close the one that has waited longest."""
        self._open.add(connection)
        self._waiting[connection] = None
        if len(self._open) > self._most:
            oldest = next(iter(self._waiting))
            self.remove(oldest)
            oldest.cut()

    def remove(self, connection: "Connection") -> None:
        """Forget a connection that is closed."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def waits(self, connection: "Connection") -> None:
        """Tell that a connection waits for its client, from now on or still."""
        if connection in self._open:
            self._waiting.setdefault(connection)

    def works(self, connection: "Connection") -> None:
        """Tell that a connection does not wait for its client."""
        self._waiting.pop(connection, None)

    def expire(self, now: float) -> bool:
        """Close some of those whose deadline has passed; tell whether there may be more."""
        late = list(islice((found for found in self._waiting if found.deadline <= now), _AT_ONCE))
        for connection in late:
            connection.expire()
        return len(late) == _AT_ONCE


class _Reading(Enum):
    """What a connection reads: nothing yet of a request, its path and headers, or its body."""

    NOTHING = 0
    HEAD = 1
    BODY = 2


class Connection(HttpToolsProtocol):
    """One connection of a client.

    `deadline` is when it is closed, on the event loop's clock; `refused` is the status of what was refused, if anything
    was.
    """

    def __init__(
        self,
        connections: Connections,
        limits: Limits,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._connections = connections
        self._limits = limits
        self._reading = _Reading.NOTHING
        self._head_bytes = self._head_fields = 0
        self._accepted = 0  # requests that arrived whole and are not answered
        self._running: RequestResponseCycle | None = None
        self._deaf = False  # what still comes is not looked at
        self._dropped = 0
        self.deadline = _NEVER
        self.refused = 0
        self._plain: asyncio.Transport | None = None  # what the first transport is, and below TLS stays

    # What the transport tells.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.arrive(transport)

    def arrive(self, transport: asyncio.Transport) -> None:
        """Be counted; what opens a connection before it can carry requests says so by itself."""
        self.transport = transport
        self._plain = self._plain or transport
        self.deadline = self.loop.time() + self._limits.head_seconds
        self._connections.add(self)

    def forget(self) -> None:
        """Be counted no more: it ends before it could carry requests."""
        self._connections.remove(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Be gone, and with it what has not begun."""
        self._connections.remove(self)
        self._hang_up()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._wait(self._limits.unread_seconds)

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        self._rest()

    def data_received(self, data: bytes) -> None:
        """Read what has come; answer what is no HTTP and close."""
        if self._deaf or self.transport.is_closing():
            return
        in_head = self._reading is _Reading.HEAD
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._deaf = True  # nothing else is spoken here: it gets its answer in HTTP, and no more
            self.cycle.keep_alive = False
        except httptools.HttpParserError as error:
            self._refuse(_told(error.__context__))
        else:
            if in_head and self._reading is _Reading.HEAD:
                self._head_bytes += len(data)  # of a field that does not end
                if self._head_bytes > self._limits.head_bytes:
                    self._refuse(_told(_TooMuch()))

    # What the parser tells.

    def on_message_begin(self) -> None:
        """Begin to read a request."""
        if len(self.pipeline) >= self._limits.pipelined:
            raise _TooMuch
        super().on_message_begin()
        self.scope[CONNECTION] = self  # type: ignore[literal-required]  # a key of ours
        self._reading = _Reading.HEAD
        self._head_bytes = self._head_fields = 0
        self._rest()

    def on_url(self, url: bytes) -> None:
        """Take a part of the path."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what follows a body in chunks is dropped."""
        self._head_fields += 1
        self._count(len(name) + len(value) + 4)
        if self._reading is _Reading.HEAD:
            super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._limits.head_bytes or self._head_fields > self._limits.head_fields:
            raise _TooMuch

    def on_headers_complete(self) -> None:
        """Hand the request over, whose body is yet to come."""
        if not self.url.startswith(b"/") and httptools.parse_url(self.url).path is None:
            raise _NoPath
        if self.parser.should_upgrade() and any(name in _BODY_HEADERS for name, _ in self.headers):
            raise _BodyOfUpgrade
        super().on_headers_complete()
        self._reading = _Reading.BODY
        self._head_bytes = 0
        self._rest()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, which buys time; what comes after an early answer is dropped, up to a limit."""
        super().on_body(body)
        self.deadline += len(body) / self._limits.body_bytes_per_second
        if self.cycle.response_complete:
            self._dropped += len(body)
            if self._dropped > _MOST_DROPPED * self._limits.body_bytes:
                self.cut()

    def on_message_complete(self) -> None:
        """Accept the request, unless it was answered early."""
        super().on_message_complete()
        self._reading = _Reading.NOTHING
        if not self.cycle.more_body:
            self._accepted += 1
        self._rest()

    # What the application does.

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Wait for the next request, or begin with the one that has come meanwhile."""
        if self._running is not None and not self._running.more_body:
            self._accepted -= 1
        super().on_response_complete()
        self._unset_keepalive_if_required()  # there is `deadline`
        self._rest()
        if self._deaf and not self._accepted:
            self.transport.close()

    # What comes of it.

    def _rest(self) -> None:
        """Work where there is something to answer, else wait for the client."""
        if self._accepted and not self.flow.write_paused:
            self.deadline = _NEVER
            self._connections.works(self)
        elif self._reading is _Reading.NOTHING:
            self._wait(self._limits.idle_seconds)
        elif self._reading is _Reading.HEAD:
            self._wait(self._limits.head_seconds)
        else:
            self._wait(self._limits.body_seconds)

    def _wait(self, seconds: float) -> None:
        self.deadline = self.loop.time() + seconds
        self._connections.waits(self)

    def expire(self) -> None:
        """Close, with a word to a client that was about to send something."""
        if self._reading is _Reading.NOTHING or self.transport.is_closing() or self._accepted:
            self.cut()
        else:
            self._refuse(TooSlow("the request did not arrive in time", "send it faster, or in smaller parts"))

    def cut(self) -> None:
        """Close at once, whatever is on the way."""
        self._hang_up()
        self.transport.abort()

    def unsent(self) -> int:
        """Give how many bytes are there for the client and not with the system yet, encrypted or not."""
        return sum(found.get_write_buffer_size() for found in {self.transport, self._plain} if found is not None)

    def is_gone(self) -> bool:
        """Tell whether the client cannot be sent anything any more, though the loop may not have said so yet."""
        gone = self.transport.is_closing()
        if gone:
            self._hang_up()
        return gone

    def _hang_up(self) -> None:
        """Let what is being answered know that nobody listens."""
        self.pipeline.clear()
        if self._running is not None:
            self._running.disconnected = True
            self._running.message_event.set()

    def _refuse(self, error: DexError) -> None:
        """Close after what was accepted is answered; where there is nothing, say why."""
        self._deaf = True
        unfinished = self.cycle if self._reading is _Reading.BODY and not self.cycle.response_complete else None
        if unfinished is not None:
            if self.pipeline:
                self.pipeline.popleft()
            unfinished.disconnected = True
            unfinished.message_event.set()
        if not self._accepted:
            self.refused = error.status
            self.transport.write(raw_response(error))
            self.transport.close()
            self.deadline = self.loop.time() + _LAST_WORDS_SECONDS


def _told(cause: BaseException | None) -> DexError:
    """Give what a client is told of what ended the parser."""
    if isinstance(cause, _TooMuch):
        return HeadTooLarge("the path and headers are too long", "send less")
    if isinstance(cause, _BodyOfUpgrade):
        return InputError("a request that asks for another protocol has a body", "send it without Upgrade")
    if not isinstance(cause, _EXPECTED):
        _log.error("reading a request failed", exc_info=cause)
    return InputError("this is not a valid HTTP/1.1 request", "send HTTP/1.1, and percent-encode the path")


class _TooMuch(Exception):
    """The head is too long, or too many requests wait for their turn."""


class _NoPath(Exception):
    """What is asked for is no path."""


class _BodyOfUpgrade(Exception):
    """The body of a request with Upgrade, which the parser would leave out."""


# None is what the parser finds by itself.
_EXPECTED = (NoneType, _NoPath, UnicodeDecodeError, httptools.HttpParserError)
