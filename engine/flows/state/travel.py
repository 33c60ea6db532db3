"""Time travel: a new run with what an old one held right after one of its events (spec: FL-13)."""

import msgspec

from dex.engine.apply import Apply, Outcome
from dex.engine.flows.records import RunTraveled, Write
from dex.engine.flows.state import attributes, history, runs
from dex.engine.flows.state.closing import stop_run
from dex.engine.flows.state.runs import Run
from dex.wcl.commands.flows import FlowStarted
from dex.wcl.errors import FailedPrecondition

_STEPS = (
    "INSERT INTO steps (run, type, number, status, input, attempt, due_at, recovery_error, created_event)"
    " SELECT ?1, type, number, 'ready', input, 1, ?2, recovery_error, 1 FROM steps"
    " WHERE run = ?3 AND created_event <= ?4 AND (ended_event IS NULL OR ended_event > ?4)"
)
_MESSAGES = (
    "SELECT channel, data FROM messages"
    " WHERE run = ?1 AND created_event <= ?2 AND (ended_event IS NULL OR ended_event > ?2) ORDER BY id"
)
_COPY_MESSAGE = "INSERT INTO messages (id, run, channel, data, at, created_event) VALUES (?, ?, ?, ?, ?, 1)"


def travel(apply: Apply, record: RunTraveled) -> Outcome:
    """Make the new run, and stop the old one if it still runs.

    Raises:
        FailedPrecondition: values of that time are gone.
    """
    old = runs.by_run_id(apply.connection, record.run_id)
    if old is None:
        raise runs.not_active(record.run_id, old)
    writes = _values_at(apply, old, record.event)
    if old.running:
        stop_run(apply, old, "terminated", f"time travel: {record.reason}")
    new = msgspec.structs.replace(
        old,
        id=apply.seq,
        run_id=record.new_run_id,
        status="running",
        closing=None,
        graceful=None,
        output=None,
        error=None,
        request_id=None,
        previous_run_id=old.run_id,
        started_at=apply.at,
        closed_at=None,
        timeout_at=None if old.timeout_at is None else apply.at + old.timeout_at - old.started_at,
    )
    runs.insert(apply.connection, new)
    changes = attributes.write(apply.connection, new.id, apply.seq, writes)
    apply.connection.execute(_STEPS, (new.id, apply.at, old.id, record.event))
    first = apply.seq * 65_536
    kept = apply.connection.execute(_MESSAGES, (old.id, record.event)).fetchall()
    apply.connection.executemany(
        _COPY_MESSAGE,
        [(first + i, new.id, channel, data, apply.at) for i, (channel, data) in enumerate(kept)],
    )
    detail = {"from_run": old.run_id, "event": record.event, "reason": record.reason}
    history.add(apply, new.id, 1, "traveled", detail, changes)
    return Outcome(FlowStarted(flow_id=new.flow_id, run_id=new.run_id, started=True))


def _values_at(apply: Apply, run: Run, event: int) -> list[Write]:
    """Give the values that the run had after an event."""
    versions: dict[str, int | None] = {}
    for past in history.page(apply.connection, run.id, 0, event):
        versions.update({change.key: change.new for change in past.changes})
    writes = []
    for key, version in sorted(versions.items()):
        if version is None:
            continue
        data = attributes.data(apply.connection, version)
        if data is None:
            raise FailedPrecondition(
                f"the values that run {run.run_id} had at event {event} are gone",
                "choose a later event",
                run_id=run.run_id,
                event=event,
            )
        writes.append(Write(key, data))
    return writes
