"""The reference: what one would write by hand with `sqlite3` to do the same work.

Same pragmas, same durability, the same journal, indexes and columns, and nothing that would make it slower than
it need be: fixed SQL for Python's statement cache, no checks, no locks, tuples for results.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec

from tests.bench.sample import Row

_SCHEMA = """
PRAGMA journal_mode=WAL;
CREATE TABLE journal (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, record BLOB NOT NULL);
CREATE TABLE employees (key BLOB PRIMARY KEY NOT NULL, payload BLOB NOT NULL, department TEXT, passport TEXT);
CREATE INDEX employees_department ON employees (department);
CREATE UNIQUE INDEX employees_passport ON employees (passport);
CREATE TABLE outcomes (mutation_id TEXT PRIMARY KEY NOT NULL, digest BLOB NOT NULL, seq INTEGER NOT NULL);
"""
PRAGMAS = """
PRAGMA synchronous=FULL;
PRAGMA wal_autocheckpoint=10000;
PRAGMA mmap_size=67108864;
PRAGMA temp_store=MEMORY;
"""
_JOURNAL = "INSERT INTO journal (at, record) VALUES (?, ?)"
_UPSERT = (
    "INSERT INTO employees (key, payload, department, passport) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE"
    " SET payload = excluded.payload, department = excluded.department, passport = excluded.passport"
)
_OUTCOME = "INSERT INTO outcomes (mutation_id, digest, seq) VALUES (?, ?, ?)"
_COLUMNS = "SELECT key, payload, department, passport FROM employees"
GET = f"{_COLUMNS} WHERE key = ?"
_GET_BY = f"{_COLUMNS} WHERE department = ? ORDER BY key"
_ALL = f"{_COLUMNS} ORDER BY key"

_encode = msgspec.msgpack.Encoder().encode


class RawStore:
    """One table of rows with two indexes, a journal and the outcomes of mutations."""

    def __init__(self, path: Path) -> None:
        is_new = not path.exists()
        self._connection = sqlite3.connect(path, isolation_level=None)
        if is_new:
            self._connection.executescript(_SCHEMA)
        self._connection.executescript(PRAGMAS)

    def put(self, row: Row, mutation_id: str) -> None:
        """Write a row in a commit of its own. A repeated mutation id or unique value would be an IntegrityError."""
        execute = self._connection.execute
        record = _encode((row, mutation_id))
        digest = blake2b(record, digest_size=16).digest()
        execute("BEGIN IMMEDIATE")
        seq = execute(_JOURNAL, (time.time_ns() // 1_000_000, record)).lastrowid
        execute(_UPSERT, row)
        execute(_OUTCOME, (mutation_id, digest, seq))
        execute("COMMIT")

    def put_many(self, rows: Iterable[Row]) -> None:
        """Write rows in one commit."""
        batch = list(rows)
        at = time.time_ns() // 1_000_000
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(_JOURNAL, [(at, _encode(row)) for row in batch])
        self._connection.executemany(_UPSERT, batch)
        self._connection.execute("COMMIT")

    def get(self, key: bytes) -> tuple[object, ...]:
        """Read a row by its key."""
        found: tuple[object, ...] = self._connection.execute(GET, (key,)).fetchone()
        return found

    def get_by(self, department: str) -> list[tuple[object, ...]]:
        """Read the rows of a department in key order."""
        return self._connection.execute(_GET_BY, (department,)).fetchall()

    def iterate(self) -> Iterator[tuple[object, ...]]:
        """Read every row in key order."""
        return self._connection.execute(_ALL)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
