"""Purging runs, erasing hard-delete attributes of closed ones, and changing what a run is synced to."""

from dex.engine.apply import Apply, Outcome
from dex.engine.flows.records import AttributesErased, ConfigUpdated, RunPurged
from dex.engine.flows.state import attributes, history, outbox, runs
from dex.engine.flows.state.attributes import Change
from dex.wcl.commands.flows import Accepted
from dex.wcl.errors import FailedPrecondition

_OF_RUN = ("messages", "steps", "attributes", "history")


def purge(apply: Apply, record: RunPurged) -> Outcome:
    """Delete a closed run with all it holds.

    Raises:
        FailedPrecondition: it still runs.
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
    attributes.erase(apply.connection, history.versions(apply.connection, run.id))
    for table in _OF_RUN:
        apply.connection.execute(f"DELETE FROM {table} WHERE run = ?", (run.id,))
    apply.connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
    return Outcome(Accepted(seq=apply.seq, run_id=run.run_id))


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
