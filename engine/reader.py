"""Reading: a pool of connections, each answer from one consistent snapshot.

Reading a data directory that is not there makes nothing: an empty database in memory answers.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from dex.engine import catalog
from dex.engine.catalog import Catalog
from dex.engine.freshness import Evidence, embedded
from dex.engine.home import Home
from dex.engine.sqlite.connection import is_missing, open_database
from dex.engine.sqlite.errors import translate
from dex.engine.sqlite.scripts import open_empty
from dex.wcl.commands import Freshness
from dex.wcl.errors import Unavailable

_SEEN = "SELECT version, (SELECT max(seq) FROM journal) FROM catalog"


class Reader:
    """One connection, and the definitions as it last saw them. One that `stands_in` for a missing file serves once."""

    def __init__(self, connection: sqlite3.Connection, *, stands_in: bool = False) -> None:
        self.connection = connection
        self.stands_in = stands_in
        self.catalog = catalog.load(connection)

    def refresh(self) -> None:
        """Read the definitions again."""
        self.catalog = catalog.load(self.connection)


class Snapshot:
    """A moment of the file: its definitions and last position. All that is read in it belongs together.

    Definitions and position are looked at when they are first asked for, since Flows need neither.
    """

    def __init__(self, readers: "Readers") -> None:
        self._readers = readers
        self._reader = readers.take()
        self.connection = self._reader.connection
        self._seq: int | None = None

    def __enter__(self) -> Self:
        try:
            self.connection.execute("BEGIN")
            return self  # noqa: TRY300  # an interrupt on the way out must end the transaction as well
        except BaseException as error:
            self._end()
            if isinstance(error, sqlite3.Error):
                raise translate(error, self._readers.path) from error
            raise

    @property
    def catalog(self) -> Catalog:
        """What is defined at this moment."""
        self._look()
        return self._reader.catalog

    @property
    def seq(self) -> int:
        """The journal's last position at this moment, 0 where there is none."""
        return self._look()

    def freshness(self, applied_seq: int) -> Freshness:
        """Tell how fresh an answer is that has this moment's `applied_seq`."""
        return self._readers.evidence(applied_seq, self.seq)

    def _look(self) -> int:
        if self._seq is None:
            version, seq = self.connection.execute(_SEEN).fetchone()
            if version != self._reader.catalog.version:
                self._reader.refresh()
            self._seq = seq or 0
        return self._seq

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._end()
        if isinstance(error, sqlite3.Error):
            raise translate(error, self._readers.path) from error

    def _end(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self._readers.give(self._reader)


class Readers:
    """Connections for reading, taken by one thread at a time and kept for the next; `evidence` tells how fresh it is.

    Who has but a few short statements to execute holds `turn` meanwhile. Python's interpreter lock is passed on at each
    statement; threads that go through theirs at the same time wake one another at each of them, on two cores at half
    the speed of one.
    """

    def __init__(self, path: Path, timeout: float, evidence: Evidence = embedded) -> None:
        self.path = path
        self.evidence = evidence
        self.turn = threading.Lock()
        self._timeout = timeout
        self._idle: list[Reader] = []
        self._closed = False
        self._home = Home()

    def take(self) -> Reader:
        """Give a reader that nobody uses; hand it back with `give`.

        Raises:
            Unavailable: the engine is closed, or was opened in another process.
            Refused: the file cannot be used.
        """
        self._home.check()
        try:
            return self._idle.pop()
        except IndexError:
            if self._closed:
                raise Unavailable("the engine is closed", "open a new client") from None
        stands_in = is_missing(self.path)
        connection = open_empty() if stands_in else open_database(self.path, self._timeout)
        try:
            return Reader(connection, stands_in=stands_in)
        except sqlite3.Error as error:
            connection.close()
            raise translate(error, self.path) from error

    def give(self, reader: Reader) -> None:
        """Take a reader back."""
        if self._closed or reader.stands_in:
            reader.connection.close()
        else:
            self._idle.append(reader)

    def snapshot(self) -> Snapshot:
        """Give one moment of the file, to be used in a `with` statement."""
        return Snapshot(self)

    @contextmanager
    def brief(self) -> Iterator[Snapshot]:
        """Give one moment of the file for a few short statements, one thread at a time."""
        with self.turn, self.snapshot() as snapshot:
            yield snapshot

    def close(self) -> None:
        """Close the connections that nobody uses; one in use is closed when it is given back."""
        self._closed = True
        while self._idle:
            self._idle.pop().connection.close()
