"""What became of mutations that carry an id: the same id with the same contents gives its first outcome again.

Outcomes are kept for 30 days of the journal's time. Whether one still counts is judged by the time of the
record that asks, never by whether a sweep has come by, so that every replay judges alike (spec: S-07).
"""

import sqlite3
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec

from dex.engine.apply import Apply, Outcome
from dex.engine.freshness import current
from dex.wcl.commands import (
    AppendRecords,
    ClearStateStore,
    Command,
    DeleteRow,
    PutRow,
    RecordsAppended,
    RowDeleted,
    RowWritten,
    StoreCleared,
    Written,
)
from dex.wcl.errors import Conflict, DexError

RETENTION_MS = 30 * 24 * 3600 * 1000
_SWEEP_ROWS = 500

_RESULTS: dict[type[Command[Any]], type[msgspec.Struct]] = {
    PutRow: RowWritten,
    DeleteRow: RowDeleted,
    ClearStateStore: StoreCleared,
    AppendRecords: RecordsAppended,
}


class _Lost(msgspec.Struct):
    """The outcome of a mutation that lost a unique claim: it stays lost."""

    message: str
    remedy: str
    facts: dict[str, Any]


def once(apply: Apply, scope: int, command: Any, record: bytes, run: Callable[[Apply, Any], Outcome]) -> Outcome:
    """Run a mutation that carries an id, unless it ran before; then give its first outcome.

    Raises:
        Conflict: the id was used with other contents (`reason` mutation_id), or the first outcome was a conflict.
    """
    digest = blake2b(record, digest_size=16).digest()
    found = apply.connection.execute(
        "SELECT digest, outcome FROM outcomes WHERE scope = ? AND mutation_id = ? AND at > ?",
        (scope, command.mutation_id, apply.at - RETENTION_MS),
    ).fetchone()
    if found is not None:
        if found[0] != digest:
            raise _reused(command.mutation_id)
        return _replay(apply, command, found[1])
    error: DexError | None = None
    try:
        result = run(apply, command).result
        outcome = msgspec.msgpack.encode((0, result))
    except Conflict as lost:
        error = lost
        outcome = msgspec.msgpack.encode((1, _Lost(lost.message, lost.remedy, lost.facts)))
        result = None
    apply.connection.execute(
        "INSERT INTO outcomes (seq, scope, mutation_id, at, digest, outcome) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (scope, mutation_id) DO UPDATE SET"
        " seq = excluded.seq, at = excluded.at, digest = excluded.digest, outcome = excluded.outcome",
        (apply.seq, scope, command.mutation_id, apply.at, digest, outcome),
    )
    return Outcome(error or result, changed_catalog=isinstance(command, ClearStateStore))


def _reused(mutation_id: str) -> Conflict:
    return Conflict(
        f"mutation id {mutation_id!r} was used before with other contents",
        "retry with the original contents, or use a fresh id",
        reason="mutation_id",
        mutation_id=mutation_id,
    )


def _replay(apply: Apply, command: Any, outcome: bytes) -> Outcome:
    lost, raw = msgspec.msgpack.decode(outcome, type=tuple[bool, msgspec.Raw], strict=False)
    if lost:
        first = msgspec.msgpack.decode(raw, type=_Lost)
        raise Conflict(first.message, first.remedy, **first.facts)
    result: Any = msgspec.msgpack.decode(raw, type=_RESULTS[type(command)])
    result.replayed = True
    if isinstance(result, Written):
        result.freshness = current(apply.seq - 1)
    return Outcome(result, wrote=False)


def sweep(connection: sqlite3.Connection, journal_ms: int) -> bool:
    """Delete one bounded pass of outcomes that no later record can ask for; tell whether more remain.

    `journal_ms` is the time of the last record, below which no later record's time can be.
    """
    deleted = connection.execute(
        "DELETE FROM outcomes WHERE seq IN (SELECT seq FROM outcomes WHERE at <= ? ORDER BY seq LIMIT ?)",
        (journal_ms - RETENTION_MS, _SWEEP_ROWS),
    ).rowcount
    return deleted == _SWEEP_ROWS
