"""The journal: every committed mutation in order, each a typed command that names all its effects.

A record is written in the transaction that applies it, so that what is in the journal has happened and what
has happened is in the journal. Replaying it into an empty file gives the same state.
"""

import sqlite3
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from dex.engine.postings import plain
from dex.wcl.commands import (
    AppendRecords,
    ClearStateStore,
    DefineFeed,
    DefineStateStore,
    DeleteRow,
    DropFeed,
    DropStateStore,
    PutRow,
    RebuildStateStore,
)
from dex.wcl.errors import InvalidCommand

Mutation = (
    PutRow
    | DeleteRow
    | ClearStateStore
    | AppendRecords
    | DefineStateStore
    | DropStateStore
    | RebuildStateStore
    | DefineFeed
    | DropFeed
)
"""The commands that are journaled as they are; of Flows it is what came of running a handler (flows/records.py)."""


class Nothing(msgspec.Struct, frozen=True, tag_field="command", tag="nothing"):
    """What a replicated journal has at a position whose mutation was refused or changed nothing, or at a barrier."""


# Deterministic, so that the same contents always have the same digest (spec: S-07).
_encode = msgspec.msgpack.Encoder(order="deterministic", enc_hook=plain).encode
_TRIM_ROWS = 500


def _as_is(_kind: type, data: Any) -> Any:
    return data


@cache
def _decoder() -> msgspec.msgpack.Decoder[Any]:
    from dex.engine.flows.records import FlowRecord
    from dex.engine.owner import OwnerChanged

    return msgspec.msgpack.Decoder(Mutation | Nothing | OwnerChanged | FlowRecord, dec_hook=_as_is)


def encode_record(mutation: Any) -> bytes:
    """Give a mutation's journal form.

    Raises:
        InvalidCommand: a name or id in it is not Unicode text.
    """
    try:
        return _encode(mutation)
    except UnicodeEncodeError as error:
        raise InvalidCommand("a name or id of the command has a lone surrogate", "names and ids are text") from error


class Head(NamedTuple):
    """The end of the journal: the last position, its time in ms, and the bytes of all records so far."""

    seq: int
    at: int
    total: int


Row = tuple[int, int, int, bytes]
"""A row of the journal: position, time in ms, bytes of all records so far, and the record."""

MarkedRow = tuple[int, int, int, bytes, int, int | None]
"""A row of a replicated journal, with the sequence and the mark of the message that it comes from."""


class Entry(NamedTuple):
    """One journaled mutation with its position and time, and the record it was read from, whose digest counts."""

    seq: int
    at: int
    mutation: Any
    record: bytes


def decode_record(record: bytes) -> Any:
    """Give the mutation of a journal form."""
    return _decoder().decode(record)


def write(connection: sqlite3.Connection, entries: list[Row]) -> None:
    """Append rows inside the current transaction."""
    connection.executemany("INSERT INTO journal (seq, at, total, record) VALUES (?, ?, ?, ?)", entries)


def write_marked(connection: sqlite3.Connection, entries: list[MarkedRow]) -> None:
    """Append rows of a replicated journal inside the current transaction."""
    connection.executemany(
        "INSERT INTO journal (seq, at, total, record, message, mark) VALUES (?, ?, ?, ?, ?, ?)", entries
    )


def last_seq(connection: sqlite3.Connection) -> int:
    """Give the last position, 0 where there is none."""
    (seq,) = connection.execute("SELECT ifnull(max(seq), 0) FROM journal").fetchone()
    return int(seq)


def read(connection: sqlite3.Connection, after: int = 0) -> Iterator[Entry]:
    """Give the journaled mutations after a position, in order."""
    query = "SELECT seq, at, record FROM journal WHERE seq > ? ORDER BY seq"
    for seq, at, record in connection.execute(query, (after,)):
        yield Entry(seq, at, _decoder().decode(record), record)


def trim(connection: sqlite3.Connection, now_ms: int, max_bytes: int, max_age_ms: int) -> bool:
    """Delete one bounded pass of records beyond the retention, the oldest first; tell whether more remain.

    The last record always stays: it says what the next position is.
    """
    ends = connection.execute(
        "SELECT (SELECT min(seq) FROM journal), seq, total FROM journal ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    if ends is None:
        return False
    first, last, total = ends
    stop = min(first + _TRIM_ROWS, last)
    # `total` and `at` rise with seq, so that one look at the end of the pass tells for all before it.
    deletable = "SELECT max(seq) FROM journal WHERE seq >= ? AND seq < ? AND (total <= ? OR at < ?)"
    until = connection.execute(deletable, (first, stop, total - max_bytes, now_ms - max_age_ms)).fetchone()[0]
    if until is None:
        return False
    connection.execute("DELETE FROM journal WHERE seq <= ?", (until,))
    return bool(until == stop - 1 and stop < last)
