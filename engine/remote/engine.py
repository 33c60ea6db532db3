"""The engine of a server: typed commands sent to it over HTTP, results and errors as if they were its own."""

import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import httpx

from dex.engine.home import Home
from dex.engine.remote.bounded import BoundedTransport
from dex.engine.remote.endpoints import Endpoint
from dex.engine.remote.listening import Listening
from dex.engine.remote.replies import read_reply
from dex.engine.remote.trying import LostReply, Trying, is_repeatable, may_be_applied, with_id
from dex.wcl.commands import Command
from dex.wcl.errors import DexError, InputError, InvalidCommand, Unavailable
from dex.wcl.scopes import scope_of
from dex.wcl.wire import encode, result_from
from dex.wcl.wireerrors import error_from_wire

R = TypeVar("R")

DEFAULT_TIMEOUT = 60.0
_MOST_BYTES = 4 * 1024 * 1024
# What a server may take to answer beyond the time that a command waits by itself.
_MARGIN_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
# What an answer may take on its way.
_REPLY_SECONDS = 0.5
# How long one of several servers is waited for before another one is asked the same.
_TURN_SECONDS = 10.0


class RemoteEngine:
    """Carries out typed commands on one of several servers. Safe to share between threads.

    `timeout` is how many seconds a command may take, tries and waits included. With `own_ids` a write alone that has
    no mutation or request id gets one, so that it is sent again where its reply is lost, and applied once. `path` is
    where commands are sent to.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        token: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        own_ids: bool = False,
        path: str = "/v1/commands",
    ) -> None:
        self.endpoints = list(endpoints)
        self._home = Home()
        self._timeout = timeout
        self._own_ids = own_ids
        self._path = path
        self._trying = Trying(self.endpoints)
        headers = {"content-type": "application/json"}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        limits = httpx.Limits(max_connections=128, max_keepalive_connections=128, keepalive_expiry=30)
        secure = any(endpoint.url.startswith("https:") for endpoint in self.endpoints)
        # The system's own authorities; reading them takes a while.
        verify = ssl.create_default_context() if secure else False
        self._http = httpx.Client(headers=headers, transport=BoundedTransport(verify=verify, limits=limits))
        self._listening = Listening(self._http)
        self._writes = 0

    def execute(self, command: Command[R]) -> R:
        """Carry out one command and give its result.

        Raises:
            DexError: of the kind that fits; Unavailable where no server answers in time.
        """
        if self._own_ids:
            command = with_id(command)
        return self._send([command], _encoded(command), lambda raw: result_from(command, raw))

    def execute_many(self, commands: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Carry out commands in order; each succeeds or fails alone, and neighbouring mutations share commits."""
        if self._own_ids and len(commands) == 1:
            commands = [with_id(commands[0])]
        results: list[Any | DexError] = [None] * len(commands)
        for part in _parts(commands, results):
            try:
                sent = [commands[index] for index, _ in part]
                items = self._send(sent, b"[%s]" % b",".join(data for _, data in part), partial(_items, sent))
            except DexError as error:
                items = [error] * len(part)
            for (index, _), item in zip(part, items, strict=True):
                results[index] = item
        return results

    def _send(self, commands: Sequence[Command[Any]], content: bytes, read: Callable[[Any], R]) -> R:
        """Send commands, already written as JSON, and give what came back, as `read` reads it.

        Raises:
            DexError: what the server says, or that none answers.
        """
        self._home.check()
        changes = any(scope_of(command) != "read" for command in commands)
        if changes:
            self._writes += 1
        waits = max((getattr(command, "wait_ms", 0) for command in commands), default=0) / 1000
        deadline = time.monotonic() + max(self._timeout, waits + _MARGIN_SECONDS if waits else 0)
        repeatable = all(is_repeatable(command) for command in commands)
        # One that hangs is no reason to leave the others unasked.
        share = min(_TURN_SECONDS, self._timeout / len(self.endpoints))
        turn = waits + share if repeatable and len(self.endpoints) > 1 else float("inf")

        def attempt(endpoint: Endpoint) -> R:
            if len(self.endpoints) > 1:
                self._listening.check(endpoint, share)
            url = endpoint.url + self._path
            until = min(deadline, time.monotonic() + turn)
            result = read_reply(url, lambda: self._post(url, content, until), read)
            self._listening.answered(endpoint)
            return result

        try:
            return self._trying.run(attempt, deadline, repeatable=repeatable)
        except LostReply as lost:
            if changes:
                raise may_be_applied(f"{lost}, and the write may have been applied", **lost.facts) from lost
            raise Unavailable(str(lost), lost.remedy, **lost.facts) from lost

    def _post(self, url: str, content: bytes, deadline: float) -> httpx.Response:
        left = max(0.001, deadline - time.monotonic())
        # The server may so tell in time what holds it up.
        headers = {"x-dex-timeout": f"{max(left * 0.8, left - _REPLY_SECONDS):.3f}"}
        timeout = httpx.Timeout(left, connect=min(left, _CONNECT_SECONDS))
        return self._http.post(url, content=content, headers=headers, timeout=timeout)

    @property
    def writes(self) -> int:
        """How many times something was sent to be written so far, whatever became of it."""
        return self._writes

    def settle(self, on_pass: Callable[[], None] | None = None) -> None:
        """Do nothing: a server does its housekeeping by itself."""

    def close(self) -> None:
        """Close the connections."""
        if self._home.is_here:
            self._http.close()


def _encoded(command: Command[Any]) -> bytes:
    """Give a command as JSON.

    Raises:
        InvalidCommand: a text in it is not Unicode.
    """
    try:
        return encode(command)
    except UnicodeEncodeError as error:
        raise InvalidCommand("a name or id of the command has a lone surrogate", "names and ids are text") from error


def _parts(commands: Sequence[Command[Any]], results: list[Any | DexError]) -> Iterator[list[tuple[int, bytes]]]:
    """Divide commands into requests of a size that a server takes: positions and JSON.

    The error of one that cannot be written as JSON goes to `results`.
    """
    part: list[tuple[int, bytes]] = []
    size = 0
    for index, command in enumerate(commands):
        try:
            data = _encoded(command)
        except DexError as error:
            results[index] = error
            continue
        if part and size + len(data) > _MOST_BYTES:
            yield part
            part, size = [], 0
        part.append((index, data))
        size += len(data)
    if part:
        yield part


def _items(commands: Sequence[Command[Any]], raw: Any) -> list[Any | DexError]:
    """Read the results and errors of several commands.

    Raises:
        InputError: they are not that.
    """
    if not isinstance(raw, list) or len(raw) != len(commands):
        raise InputError(f"not the results of {len(commands)} commands", "")
    return [
        error_from_wire(item["error"])
        if isinstance(item, dict) and isinstance(item.get("error"), dict)
        else result_from(command, item)
        for command, item in zip(commands, raw, strict=True)
    ]
