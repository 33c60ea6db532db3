"""The backlog: what is marked and not yet written, read in bounded pieces whatever its size (spec: Y-13, Y-20)."""

import sqlite3
from typing import NamedTuple

from dex.engine.clock import LATEST_MS

# From run to run by the index: SQLite's own DISTINCT would read every mark of the backlog.
_RUNS = """
WITH RECURSIVE pending (run) AS (
  SELECT min(run) FROM sync_marks WHERE store = ?1 AND run > ?2
  UNION ALL
  SELECT (SELECT min(run) FROM sync_marks WHERE store = ?1 AND run > pending.run) FROM pending WHERE run IS NOT NULL
  LIMIT ?3
)
SELECT run FROM pending WHERE run IS NOT NULL
"""
_DUE = """
SELECT r.id, r.flow_id, r.run_id, ifnull(a.attempts, 0), a.statements, ifnull(a.last_error, s.last_error) FROM runs r
LEFT JOIN sync_attempts a ON a.store = ?1 AND a.run = r.id
LEFT JOIN sync_attempts s ON s.store = ?1 AND s.run = 0
WHERE r.id = ?2 AND (a.next_at IS NULL OR a.next_at NOT BETWEEN ?3 + 1 AND ?4) AND NOT EXISTS (
  SELECT 1 FROM runs o WHERE o.flow_id = r.flow_id AND o.id < r.id
  AND EXISTS (SELECT 1 FROM sync_marks m WHERE m.store = ?1 AND m.run = o.id)
)
"""


# The keys of a run up to a limit, those of plain attributes only: an AttributeMap's instances are passed in one step,
# as "0" is what follows the slash.
_PLAIN = """
WITH RECURSIVE marked (key) AS (
  SELECT min(key) FROM sync_marks WHERE store = ?1 AND run = ?2
  UNION ALL
  SELECT (SELECT min(key) FROM sync_marks WHERE store = ?1 AND run = ?2 AND key >=
      CASE instr(marked.key, '/') WHEN 0 THEN marked.key || char(0)
      ELSE substr(marked.key, 1, instr(marked.key, '/') - 1) || '0' END)
  FROM marked WHERE key IS NOT NULL
)
SELECT key FROM marked WHERE instr(key, '/') = 0 LIMIT ?3
"""
_PENDING = (
    "SELECT m.key, m.seq, m.marked_at, v.data FROM sync_marks m"
    " LEFT JOIN attributes a ON a.run = m.run AND a.key = m.key LEFT JOIN flow_values v ON v.id = a.value_id"
    " WHERE m.store = ? AND m.run = ?"
)
_PENDING_KEY = f"{_PENDING} AND m.key = ?"
# The bound has SQLite read in order from the table itself, and not sort what an index on the run finds.
_PENDING_INSTANCES = f"{_PENDING} AND m.key > '' AND instr(m.key, '/') > 0 ORDER BY m.key LIMIT ?"
_STORES = """
WITH RECURSIVE marked (store) AS (
  SELECT min(store) FROM sync_marks
  UNION ALL
  SELECT (SELECT min(store) FROM sync_marks WHERE store > marked.store) FROM marked WHERE store IS NOT NULL
)
SELECT store FROM marked WHERE store IS NOT NULL
"""
_MARKS = (
    "SELECT m.run, m.key, m.seq, r.flow_id, r.run_id, ifnull(a.last_error, s.last_error) FROM sync_marks m"
    " JOIN runs r ON r.id = m.run LEFT JOIN sync_attempts a ON a.store = m.store AND a.run = m.run"
    " LEFT JOIN sync_attempts s ON s.store = m.store AND s.run = 0 WHERE m.store = ? AND m.marked_at <= ? LIMIT ?"
)


# PostgreSQL takes 256 MiB as one parameter, in which a value is up to six times as long as it is stored.
_MANY_BYTES = 2**25


class Pending(NamedTuple):
    """A marked attribute: its key, the position of the mark, when it was first made, and the latest stored value.

    A value of None means that the attribute is unset.
    """

    key: str
    seq: int
    marked_at: int
    data: bytes | None


class PendingRun(NamedTuple):
    """A run that a store has not been told all of. `statements` bounds a transaction after a timeout, if one was.

    `last_error` is why the run, or else the store, was not written to last.
    """

    run: int
    flow_id: str
    run_id: str
    attempts: int
    statements: int | None
    last_error: str | None = None


class Mark(NamedTuple):
    """A mark as it is acknowledged or given up: `seq` is the position that made it, `last_error` as of its run."""

    run: int
    key: str
    seq: int
    flow_id: str
    run_id: str
    last_error: str | None


class Entry(NamedTuple):
    """A line of the backlog as people see it; times are ms since the epoch."""

    store: str
    flow_id: str
    run_id: str
    key: str
    marked_at: int
    attempts: int
    next_at: int | None
    last_error: str | None


class Drop(NamedTuple):
    """An entry that was given up; times are ms since the epoch."""

    store: str
    flow_id: str
    run_id: str
    key: str
    marked_at: int
    dropped_at: int
    reason: str


class Totals(NamedTuple):
    """How much is pending, and when the oldest mark was first made, in ms; None while nothing is."""

    entries: int
    oldest_at: int | None


class Ages(NamedTuple):
    """The marks of a store by age, the youngest first; the oldest; and how often in a row a write failed at most."""

    counts: list[int]
    oldest_at: int
    oldest_flow_id: str
    attempts: int


def next_runs(
    connection: sqlite3.Connection, store: str, after: int, now_ms: int, horizon_ms: int, limit: int
) -> tuple[list[PendingRun], int | None]:
    """Look at up to `limit` runs with marks, beginning after the run number `after`, and give those whose turn it is.

    Also gives the last run that was looked at, None at the end of the backlog. A run waits after a failure, and while
    an older run of its Flow ID has marks, so that rows keep the order of runs (spec: Y-20).
    """
    looked_at = [run for (run,) in connection.execute(_RUNS, (store, after, limit))]
    found = [each for run in looked_at if (each := due_run(connection, store, run, now_ms, horizon_ms)) is not None]
    return found, looked_at[-1] if len(looked_at) == limit else None


def due_run(connection: sqlite3.Connection, store: str, run: int, now_ms: int, horizon_ms: int) -> PendingRun | None:
    """Give a run if it is its turn, None while it waits.

    No run waits beyond `horizon_ms`: that was judged by a clock that has been set back since.
    """
    row = connection.execute(_DUE, (store, run, now_ms, horizon_ms)).fetchone()
    return None if row is None else PendingRun(*row)


def batch(connection: sqlite3.Connection, store: str, run: int, limit: int) -> tuple[list[Pending], bool]:
    """Give up to `limit` marked attributes of a run with their latest values, plain ones first; tell if these are all.

    Instances that come after many bytes are left for another transaction; plain ones are never parted (spec: Y-13).
    """
    keys = [key for (key,) in connection.execute(_PLAIN, (store, run, limit))]
    found = [Pending(*connection.execute(_PENDING_KEY, (store, run, key)).fetchone()) for key in keys]
    if len(found) == limit:
        return found, False
    size = sum(len(each.data or b"") for each in found)
    for row in connection.execute(_PENDING_INSTANCES, (store, run, limit - len(found) + 1)):
        if len(found) == limit or size > _MANY_BYTES:
            return found, False
        found.append(Pending(*row))
        size += len(found[-1].data or b"")
    return found, True


def stores(connection: sqlite3.Connection) -> list[str]:
    """Give the stores that have marks."""
    return [name for (name,) in connection.execute(_STORES)]


def marks_of(connection: sqlite3.Connection, store: str, limit: int, marked_by: int = LATEST_MS) -> list[Mark]:
    """Give up to `limit` marks of a store that were first made by a time, in ms."""
    return [Mark(*row) for row in connection.execute(_MARKS, (store, marked_by, limit))]


def is_empty(connection: sqlite3.Connection) -> bool:
    """Tell whether nothing is pending."""
    return connection.execute("SELECT 1 FROM sync_marks LIMIT 1").fetchone() is None


def totals(connection: sqlite3.Connection, store: str | None = None, flow_id: str | None = None) -> Totals:
    """Count what is pending, in all, for one store or for one Flow."""
    query = (
        "SELECT count(*), min(marked_at) FROM sync_marks WHERE (?1 IS NULL OR store = ?1)"
        " AND (?2 IS NULL OR run IN (SELECT id FROM runs WHERE flow_id = ?2))"
    )
    return Totals(*connection.execute(query, (store, flow_id)).fetchone())


def ages(connection: sqlite3.Connection, store: str, bounds: list[int], most: int) -> Ages:
    """Count the marks of a store, which has some, between the times in `bounds`, the latest first, up to `most`."""
    counts: list[int] = []
    # The columns beside min() are those of the row that it is found in.
    query = (
        f"SELECT min(marked_at), run, count(*), {', '.join('sum(marked_at >= ?)' for _ in bounds)}"
        " FROM (SELECT marked_at, run FROM sync_marks WHERE store = ? LIMIT ?)"
    )
    oldest_at, run, total, *younger = connection.execute(query, (*bounds, store, most)).fetchone()
    for count in (*younger, total):
        counts.append(count - sum(counts))
    flow_id, attempts = connection.execute(
        "SELECT ifnull((SELECT flow_id FROM runs WHERE id = ?), ''),"
        " (SELECT max(attempts) FROM sync_attempts WHERE store = ?)",
        (run, store),
    ).fetchone()
    return Ages(counts, oldest_at, flow_id, attempts or 0)


def drops(connection: sqlite3.Connection, store: str | None, limit: int) -> list[Drop]:
    """Give up to `limit` entries that were given up, the latest first."""
    rows = connection.execute(
        "SELECT d.store, ifnull(r.flow_id, ''), ifnull(r.run_id, ''), d.key, d.marked_at, d.dropped_at, d.reason"
        " FROM sync_drops d LEFT JOIN runs r ON r.id = d.run WHERE ?1 IS NULL OR d.store = ?1"
        " ORDER BY d.id DESC LIMIT ?2",
        (store, limit),
    )
    return [Drop(*row) for row in rows]


def dropped(connection: sqlite3.Connection) -> int:
    """Count what was ever given up."""
    (count,) = connection.execute("SELECT count(*) FROM sync_drops").fetchone()
    return int(count)


def entries(connection: sqlite3.Connection, store: str | None, flow_id: str | None, limit: int) -> list[Entry]:
    """Give up to `limit` lines of the backlog, the oldest first."""
    rows = connection.execute(
        "SELECT m.store, r.flow_id, r.run_id, m.key, m.marked_at, ifnull(a.attempts, s.attempts),"
        " max(ifnull(a.next_at, 0), ifnull(s.next_at, 0)), ifnull(a.last_error, s.last_error)"
        " FROM sync_marks m JOIN runs r ON r.id = m.run"
        " LEFT JOIN sync_attempts a ON a.store = m.store AND a.run = m.run"
        " LEFT JOIN sync_attempts s ON s.store = m.store AND s.run = 0"
        " WHERE (?1 IS NULL OR m.store = ?1) AND (?2 IS NULL OR r.flow_id = ?2) ORDER BY m.marked_at LIMIT ?3",
        (store, flow_id, limit),
    )
    return [
        Entry(store_, flow, run, key, marked_at, attempts or 0, next_at or None, last_error)
        for store_, flow, run, key, marked_at, attempts, next_at, last_error in rows
    ]


def fail(
    connection: sqlite3.Connection,
    store: str,
    run: int,
    attempts: int,
    statements: int | None,
    next_at: int,
    error: str,
) -> None:
    """Remember that a write failed and when it is to be tried again; a run of 0 is the whole store."""
    connection.execute(
        "INSERT INTO sync_attempts (store, run, attempts, statements, next_at, last_error) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (store, run) DO UPDATE SET attempts = excluded.attempts, statements = excluded.statements,"
        " next_at = excluded.next_at, last_error = excluded.last_error",
        (store, run, attempts, statements, next_at, error),
    )


def restart(connection: sqlite3.Connection, store: str, run: int) -> None:
    """Count a run's failures anew after a commit; how many statements a transaction may have stays (spec: Y-18)."""
    connection.execute("UPDATE sync_attempts SET attempts = 0, next_at = 0 WHERE store = ? AND run = ?", (store, run))


def forget(connection: sqlite3.Connection, store: str, run: int) -> None:
    """Forget the failures of a run, or of the whole store for a run of 0."""
    connection.execute("DELETE FROM sync_attempts WHERE store = ? AND run = ?", (store, run))


def forget_settled(connection: sqlite3.Connection, store: str) -> None:
    """Forget the failures of runs of which nothing is pending any more."""
    connection.execute(
        "DELETE FROM sync_attempts WHERE store = ?1 AND run > 0"
        " AND NOT EXISTS (SELECT 1 FROM sync_marks m WHERE m.store = ?1 AND m.run = sync_attempts.run)",
        (store,),
    )
