"""The outbox of Attribute Store sync: which attributes a destination has not been told of yet (spec: Y-05).

A mark is made in the commit that wrote the value, for each store of the run. Marks of one attribute coalesce: the
writer reads the latest value when it writes, and clears a mark only if it was not made again meanwhile.
"""

import sqlite3

from dex.engine.apply import Apply, Outcome
from dex.engine.flows.keys import split
from dex.engine.flows.records import AttributesSynced, Write
from dex.engine.flows.state import attributes, history, runs
from dex.engine.flows.state.runs import Run

_MARK = (
    "INSERT INTO sync_marks (store, run, key, seq, marked_at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (store, run, key) DO UPDATE SET seq = excluded.seq"
)
_CLEAR = "DELETE FROM sync_marks WHERE store = ? AND run = ? AND key = ? AND seq = ? RETURNING marked_at"
_BEGIN_ANEW = "UPDATE sync_marks SET marked_at = ? WHERE store = ? AND run = ? AND key = ?"


def mark_writes(apply: Apply, run: Run, writes: list[Write]) -> None:
    """Mark the synced attributes among what a commit wrote."""
    if run.attribute_stores:
        mark(apply, run, [write.key for write in writes if write.synced])


def mark(apply: Apply, run: Run, keys: list[str]) -> None:
    """Mark attributes for every store of the run; one that is marked keeps the time of its first mark."""
    rows = [(store, run.id, key, apply.seq, apply.at) for store in run.attribute_stores for key in keys]
    apply.connection.executemany(_MARK, rows)


def mark_erased(apply: Apply, run: Run, keys: list[str]) -> None:
    """Mark erased attributes of a closed run, and after them the values that newer runs of its Flow ID have.

    Rows keep the order of runs: what the older one writes late must not stay (spec: Y-20).
    """
    mark(apply, run, keys)
    for newer in runs.select(apply.connection, "flow_id = ? AND id > ?", (run.flow_id, run.id)):
        mark(apply, newer, list(attributes.versions(apply.connection, newer.id, keys)))


def mark_travel(apply: Apply, old: Run, new: Run, synced: list[str]) -> None:
    """Mark all that the old run may have synced, so that its rows become the new run's state (spec: Y-21)."""
    if new.attribute_stores:
        mark(apply, new, [key for key in history.keys(apply.connection, old.id) if split(key)[0] in synced])


def is_pending(connection: sqlite3.Connection, run: int) -> bool:
    """Tell whether any store has not been told of a run's latest values."""
    return connection.execute("SELECT 1 FROM sync_marks WHERE run = ? LIMIT 1", (run,)).fetchone() is not None


def acknowledge(apply: Apply, record: AttributesSynced) -> Outcome:
    """Clear marks that were not made again since the writer read them; those that were dropped are remembered.

    One that was made again is pending since now: it is a later write, with a retry window of its own (spec: Y-19).
    The result has the run and key of each entry that was dropped.
    """
    connection = apply.connection
    cleared: list[tuple[int, str, int]] = []
    for run_id, key, seq in record.entries:
        found = connection.execute(_CLEAR, (record.store, run_id, key, seq)).fetchone()
        if found is None:
            connection.execute(_BEGIN_ANEW, (apply.at, record.store, run_id, key))
        else:
            cleared.append((run_id, key, found[0]))
    if record.dropped is None:
        return Outcome([])
    connection.executemany(
        "INSERT INTO sync_drops (store, run, key, marked_at, dropped_at, reason) VALUES (?, ?, ?, ?, ?, ?)",
        [(record.store, *each, apply.at, record.dropped) for each in cleared],
    )
    return Outcome([(run_id, key) for run_id, key, _ in cleared])


def closable(connection: sqlite3.Connection) -> list[Run]:
    """Give the runs whose close waits for no store any more."""
    return runs.select(
        connection,
        "closing IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sync_marks WHERE sync_marks.run = runs.id)",
        (),
    )
