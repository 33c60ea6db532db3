"""Purging runs, a few rows at a time, erasing hard-delete attributes of closed ones, and changing a run's stores."""

import sqlite3
import time

from dex.engine.apply import Apply, Outcome
from dex.engine.flows.records import MAX_PER_COMMIT, AttributesErased, ConfigUpdated, RunPurged
from dex.engine.flows.state import attributes, history, outbox, runs
from dex.engine.flows.state.attributes import Change
from dex.wcl.commands.flowresults import Accepted
from dex.wcl.errors import FailedPrecondition

_ROWS = 32
_OF_RUN = tuple(
    f"DELETE FROM {table} WHERE {key} IN (SELECT {columns} FROM {table} WHERE run = ? LIMIT {_ROWS})"
    for table, key, columns in (
        ("messages", "id", "id"),
        ("steps", "(run, type, number)", "run, type, number"),
        ("attributes", "(run, key)", "run, key"),
    )
)
_VALUES = f"DELETE FROM flow_values WHERE id IN (SELECT id FROM flow_values WHERE id >= ? AND id < ? LIMIT {_ROWS})"
# An event that wrote nothing shares its position with another run's where that one travelled from this one.
_EVENTS = "SELECT number, seq, changes <> x'90' FROM history WHERE run = ? ORDER BY number LIMIT 1"


def purge(apply: Apply, record: RunPurged) -> Outcome:
    """Let nobody find a closed run any more; `sweep` erases what it held.

    Raises:
        FailedPrecondition: it still runs, or has attributes that a store has not been told of.
    """
    run = runs.by_run_id(apply.connection, record.run_id)
    if run is None:
        raise runs.not_active(record.run_id, run)
    if run.running:
        raise FailedPrecondition(
            f"run {run.run_id} of Flow {run.flow_id!r} is running", "stop it first", flow_id=run.flow_id
        )
    if outbox.is_pending(apply.connection, run.id):
        raise FailedPrecondition(
            f"run {run.run_id} of Flow {run.flow_id!r} has attributes that a store has not been told of",
            "let `dex sync flush` write them first",
            flow_id=run.flow_id,
        )
    apply.connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
    apply.connection.execute("INSERT INTO purged (run) VALUES (?)", (run.id,))
    # Whoever keeps house looks for work when definitions change.
    return Outcome(Accepted(seq=apply.seq, run_id=run.run_id), changed_catalog=True)


def sweep(connection: sqlite3.Connection, seconds: float) -> bool:
    """Erase what purged runs held for about `seconds`, a few rows at least, and tell whether more remains."""
    connection.execute("PRAGMA secure_delete=ON")
    deadline = time.monotonic() + seconds
    while (purged := connection.execute("SELECT run FROM purged LIMIT 1").fetchone()) is not None:
        if not _erase_some(connection, purged[0]):
            connection.execute("DELETE FROM purged WHERE run = ?", purged)
        elif time.monotonic() >= deadline:
            return True
    return False


def _erase_some(connection: sqlite3.Connection, run: int) -> bool:
    """Erase a few rows of a purged run, or tell that none is left."""
    if any(connection.execute(delete, (run,)).rowcount for delete in _OF_RUN):
        return True
    event = connection.execute(_EVENTS, (run,)).fetchone()
    if event is None:
        return False
    number, seq, has_written = event
    values = (seq * MAX_PER_COMMIT, (seq + 1) * MAX_PER_COMMIT)
    if not has_written or connection.execute(_VALUES, values).rowcount < _ROWS:
        connection.execute("DELETE FROM history WHERE run = ? AND number = ?", (run, number))
    return True


def erase(apply: Apply, record: AttributesErased) -> Outcome:
    """Delete attributes of a closed run for good, the values they had before included (spec: FL-16).

    Raises:
        FlowNotActiveOrNotFoundError: one of them is not stored.
    """
    run = runs.by_run_id(apply.connection, record.run_id)
    found = attributes.versions(apply.connection, run.id, record.keys) if run is not None else {}
    if run is None or len(found) < len(record.keys):
        raise runs.not_active(record.run_id if run is None else run.flow_id, run)
    attributes.erase(apply.connection, history.versions(apply.connection, run.id, set(record.keys)))
    for key in record.keys:
        apply.connection.execute("DELETE FROM attributes WHERE run = ? AND key = ?", (run.id, key))
    event = history.last_number(apply.connection, run.id) + 1
    changes = [Change(key, None, found[key]) for key in record.keys]
    outbox.mark_erased(apply, run, record.synced)
    history.add(apply, run.id, event, "erased", {}, changes)
    return Outcome(Accepted(seq=apply.seq, run_id=run.run_id))


def update_config(apply: Apply, record: ConfigUpdated) -> Outcome:
    """Change the stores that a run's attributes are synced to.

    Raises:
        FlowNotActiveOrNotFoundError: it is closed.
    """
    run = runs.active(apply.connection, record.run_id)
    runs.set_stores(apply.connection, run, record.attribute_stores)
    event = history.last_number(apply.connection, run.id) + 1
    history.add(apply, run.id, event, "config_updated", {"attribute_stores": record.attribute_stores}, [])
    return Outcome(Accepted(seq=apply.seq, run_id=run.run_id))
