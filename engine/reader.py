"""Reading: a pool of connections, each answer from one consistent snapshot."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dex.engine import catalog
from dex.engine.catalog import Catalog
from dex.engine.sqlite.connection import open_database
from dex.engine.sqlite.errors import translate
from dex.wcl.errors import Unavailable


class Reader:
    """One connection, and the definitions as it last saw them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.catalog = catalog.load(connection)

    def refresh(self) -> None:
        """Read the definitions again."""
        self.catalog = catalog.load(self.connection)


class Snapshot(NamedTuple):
    """A moment of the file: what is defined, and the journal's last position."""

    connection: sqlite3.Connection
    catalog: Catalog
    seq: int


class Readers:
    """Connections for reading, taken by one thread at a time and kept for the next."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.path = path
        self._timeout = timeout
        self._idle: list[Reader] = []
        self._closed = False

    def take(self) -> Reader:
        """Give a reader that nobody uses; hand it back with `give`."""
        try:
            return self._idle.pop()
        except IndexError:
            if self._closed:
                raise Unavailable("the engine is closed", "open a new client") from None
        connection = open_database(self.path, self._timeout)
        try:
            return Reader(connection)
        except sqlite3.Error as error:
            connection.close()
            raise translate(error, self.path) from error

    def give(self, reader: Reader) -> None:
        """Take a reader back."""
        if self._closed:
            reader.connection.close()
        else:
            self._idle.append(reader)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Give one moment of the file; everything read from it belongs together."""
        reader = self.take()
        connection = reader.connection
        try:
            connection.execute("BEGIN")
            version, seq = connection.execute("SELECT version, (SELECT max(seq) FROM journal) FROM catalog").fetchone()
            if version != reader.catalog.version:
                reader.refresh()
            yield Snapshot(connection, reader.catalog, seq or 0)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self.give(reader)

    def close(self) -> None:
        """Close the connections that nobody uses; one in use is closed when it is given back."""
        self._closed = True
        while self._idle:
            self._idle.pop().connection.close()
