"""Connections to one store, each used by one thread at a time and never waited for without end (spec: Y-17)."""

import logging
import math
import select
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import errors

from dex.engine.sync.dsn import Dsn
from dex.engine.sync.failures import ends_session
from dex.wcl.errors import Unavailable

# The driver warns of a pipeline that is lost and raises the error as well: once is enough, where nobody set logging up.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

R = TypeVar("R")
_LEAST_CONNECT_SECONDS = 2  # libpq takes no less
_SETTINGS = """
SELECT pg_catalog.set_config('statement_timeout', $1, false),
    pg_catalog.set_config('idle_in_transaction_session_timeout', $2, false),
    pg_catalog.set_config('default_transaction_isolation', 'read committed', false)
"""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that gives up waiting at `deadline`, as a server that is paused never answers.

    It is closed then: what the server does with the statement cannot be known.
    """

    deadline = math.inf
    lost = False
    """Whether an error ended the connection."""

    def wait(self, gen: Generator[Any, Any, R], *arguments: Any, **named: Any) -> R:
        """Consume a generator of the driver until the deadline."""
        return super().wait(self._bounded(gen), *arguments, **named)

    def _bounded(self, gen: Generator[Any, Any, R]) -> Generator[Any, Any, R]:
        # The driver sends a nothing several times a second while the socket is silent.
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > self.deadline:
                    self.close()
                    raise errors.QueryCanceled("no answer within the time of a transaction")
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # a generator's value is untyped there


class Connections:
    """The connections of one store: lent to a thread, taken back when they are still good."""

    def __init__(self, dsn: Dsn, statement_seconds: float) -> None:
        self._dsn = dsn
        self._seconds = statement_seconds
        self._idle: list[BoundedConnection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[BoundedConnection]:
        """Lend an idle connection, or a new one.

        Raises:
            Unavailable: the server cannot be reached, or refuses.
        """
        connection = self._idle_one() or self._connect()
        try:
            yield connection
        except psycopg.Error as error:
            connection.lost = connection.closed or ends_session(error)
            if connection.lost:
                # The others are as old and were lost by the same restart, more likely than not.
                self._drop_idle()
            raise
        finally:
            self._take_back(connection)

    def close(self) -> None:
        """Close all connections; those that are lent are closed when they come back."""
        self._closed = True
        self._drop_idle()

    def _idle_one(self) -> BoundedConnection | None:
        """Take an idle connection that the server has not ended meanwhile, as a restart or its time limits do."""
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if not _has_news(connection):
                    return connection
                connection.close()
        return None

    def _connect(self) -> BoundedConnection:
        try:
            connection = BoundedConnection.connect(
                self._dsn.reveal(),
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                client_encoding="UTF8",
                connect_timeout=max(_LEAST_CONNECT_SECONDS, math.ceil(self._seconds)),
                fallback_application_name="dex sync",
            )
            self._set_up(connection)
        except psycopg.Error as error:
            # libpq's message names host, role and database. The DSN in it is hidden, so the error is not chained.
            problem = _in_one_line(self._dsn.redact(str(error)))
            raise Unavailable(
                f"cannot use {self._dsn.target}: {problem}", "check that the server runs and that the DSN is right"
            ) from None
        return connection

    def _set_up(self, connection: BoundedConnection) -> None:
        milliseconds = math.ceil(self._seconds * 1000)
        connection.deadline = time.monotonic() + self._seconds
        try:
            connection.execute(_SETTINGS, (str(milliseconds), str(2 * milliseconds)))
        except psycopg.Error:
            connection.close()
            raise

    def _take_back(self, connection: BoundedConnection) -> None:
        connection.deadline = math.inf
        if _usable(connection) and not self._closed:
            with self._lock:
                self._idle.append(connection)
        else:
            connection.close()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _has_news(connection: BoundedConnection) -> bool:
    """Tell whether the server has said anything that nobody asked for: its end, above all."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _in_one_line(message: str) -> str:
    """Give libpq's message without its hints, which come on lines of their own behind a tab."""
    lines = [" ".join(line.split()) for line in message.splitlines() if not line.startswith("\t")]
    return " ".join(lines).removeprefix("connection failed: ")


def _usable(connection: BoundedConnection) -> bool:
    return not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
