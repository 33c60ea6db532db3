"""History: one event for each commit of a run, with the versions it wrote, from which time travel goes back."""

import sqlite3
from typing import Any, NamedTuple

import msgspec

from dex.engine.apply import Apply
from dex.engine.flows.state.attributes import Change

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode_detail = msgspec.msgpack.Decoder(dict[str, Any]).decode
_decode_changes = msgspec.msgpack.Decoder(list[Change]).decode


class Event(NamedTuple):
    """A commit of a run. `number` counts from 1; `at` is in ms; `changes` are the attributes it wrote."""

    number: int
    at: int
    seq: int
    kind: str
    detail: dict[str, Any]
    changes: list[Change]


def last_number(connection: sqlite3.Connection, run: int) -> int:
    """Give the number of a run's last event, 0 where it has none."""
    return connection.execute("SELECT max(number) FROM history WHERE run = ?", (run,)).fetchone()[0] or 0


def add(apply: Apply, run: int, number: int, kind: str, detail: dict[str, Any], changes: list[Change]) -> None:
    """Write the event of the commit that is being applied."""
    apply.connection.execute(
        "INSERT INTO history (run, number, at, seq, kind, detail, changes) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (run, number, apply.at, apply.seq, kind, _encode(detail), _encode(changes)),
    )


def versions(connection: sqlite3.Connection, run: int, keys: set[str] | None = None) -> list[int]:
    """Give all versions of values that a run ever wrote, or those of some keys."""
    rows = connection.execute("SELECT changes FROM history WHERE run = ?", (run,))
    changes = (change for (encoded,) in rows for change in _decode_changes(encoded))
    return [change.new for change in changes if change.new is not None and (keys is None or change.key in keys)]


def keys(connection: sqlite3.Connection, run: int) -> list[str]:
    """Give the keys of all attributes that a run ever wrote or deleted, each once."""
    rows = connection.execute("SELECT changes FROM history WHERE run = ? ORDER BY number", (run,))
    return list(dict.fromkeys(change.key for (encoded,) in rows for change in _decode_changes(encoded)))


def page(connection: sqlite3.Connection, run: int, after: int, limit: int) -> list[Event]:
    """Give up to `limit` events after a number, in order."""
    rows = connection.execute(
        "SELECT number, at, seq, kind, detail, changes FROM history WHERE run = ? AND number > ?"
        " ORDER BY number LIMIT ?",
        (run, after, limit),
    )
    return [
        Event(number_, at, seq, kind, _decode_detail(detail), _decode_changes(changes))
        for number_, at, seq, kind, detail, changes in rows
    ]


def last_before(connection: sqlite3.Connection, run: int, at_ms: int) -> int | None:
    """Give the number of the last event at or before a time, or None where there is none."""
    number: int | None = connection.execute(
        "SELECT max(number) FROM history WHERE run = ? AND at <= ?", (run, at_ms)
    ).fetchone()[0]
    return number
