"""Time travel: a new run with what an old one held right after one of its events (spec: FL-13)."""

from typing import Any

import msgspec

from dex.engine.apply import Apply, Outcome
from dex.engine.flows.records import Close, RunTraveled, Write
from dex.engine.flows.state import attributes, channels, history, outbox, runs, steps, waits
from dex.engine.flows.state.closing import stop_run
from dex.engine.flows.state.runs import Run
from dex.wcl.commands.flowresults import FlowStarted
from dex.wcl.errors import FailedPrecondition

_FRESH: dict[str, Any] = {
    "status": "ready",
    "attempt": 1,
    "first_attempt_at": None,
    "due_at": None,
    "wait": None,
    "met": None,
    "local": None,
    "error": None,
    "wait_event": None,
    "met_event": None,
    "ended_event": None,
}


def travel(apply: Apply, record: RunTraveled) -> Outcome:
    """Make the new run, and stop the old one if it still runs.

    Raises:
        FailedPrecondition: values of that time are gone, or another run of the Flow ID is running.
    """
    old = runs.by_run_id(apply.connection, record.run_id)
    if old is None:
        raise runs.not_active(record.run_id, old)
    _refuse_second(apply, old)
    past = history.page(apply.connection, old.id, 0, record.event)
    writes = _values_at(apply, old, past)
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
    outbox.mark_travel(apply, old, new, record.synced)
    detail = {"from_run": old.run_id, "event": record.event, "reason": record.reason}
    if _copy_steps(apply, old, new, record.event):
        detail.update(_restore_graceful(apply, new, past))
    history.add(apply, new.id, 1, "traveled", detail, changes)
    return Outcome(FlowStarted(flow_id=new.flow_id, run_id=new.run_id, started=True))


def _refuse_second(apply: Apply, old: Run) -> None:
    latest = runs.latest(apply.connection, old.flow_id)
    if latest is not None and latest.id != old.id and latest.running:
        raise FailedPrecondition(
            f"Flow {old.flow_id!r} is running in a later run, {latest.run_id}",
            "travel in that one, or stop it first",
            flow_id=old.flow_id,
            run_id=latest.run_id,
        )


def _copy_steps(apply: Apply, old: Run, new: Run, event: int) -> bool:
    """Give the new run the steps that were open and the messages that were pending; tell whether there are steps.

    A step whose wait was over keeps the messages that it had consumed, and one that waited waits on since then.
    """
    opened = steps.open_at(apply.connection, old.id, event)
    met = {
        step.execution_id: waits.decode_met(step.met) for step in opened if step.met and _before(step.met_event, event)
    }
    consumed = [id_ for wait in met.values() for ids in wait.messages.values() for id_ in ids]
    ids = channels.copy(apply, old.id, new.id, event, consumed)
    for step in opened:
        copy = msgspec.structs.replace(step, run=new.id, created_event=1, **_FRESH)
        if step.wait is not None and _before(step.wait_event, event):
            copy.wait_event, copy.local = 1, step.local
            if step.execution_id in met:
                copy.wait, copy.met_event = step.wait, 1
                copy.met = waits.encode(met[step.execution_id].renumbered(ids))
            else:
                waiting = waits.decode(step.wait).unfired()
                copy.status, copy.wait, copy.due_at = "waiting", waits.encode(waiting), waiting.next_timer()
        if copy.status == "ready":
            copy.due_at = apply.at
        steps.insert(apply.connection, copy)
    return bool(opened)


def _before(event: int | None, limit: int) -> bool:
    return event is not None and event <= limit


def _restore_graceful(apply: Apply, new: Run, past: list[history.Event]) -> dict[str, Any]:
    """Have the new run complete after its last step if a step had asked for that; give it for the new history."""
    outputs = [event.detail["output"] for event in past if "output" in event.detail]
    if not outputs:
        return {}
    close = Close("completed", outputs[-1], graceful=True)
    runs.set_graceful(apply.connection, new, close)
    return {"output": outputs[-1]}


def _values_at(apply: Apply, run: Run, past: list[history.Event]) -> list[Write]:
    """Give the values that the run had after the last of these events."""
    versions: dict[str, int | None] = {}
    for event in past:
        versions.update({change.key: change.new for change in event.changes})
    writes = []
    for key, version in sorted(versions.items()):
        if version is None:
            continue
        data = attributes.data(apply.connection, version)
        if data is None:
            raise FailedPrecondition(
                f"the value that {key} had then in run {run.run_id} was erased",
                "choose a later event",
                run_id=run.run_id,
                name=key,
            )
        writes.append(Write(key, data))
    return writes
