"""Commits of RPCs, Steps and calls: all effects together or none (spec: FL-06)."""

from typing import Any

from dex.engine.apply import Apply, Outcome
from dex.engine.flows.locks import lock_conflict
from dex.engine.flows.records import MAX_PER_COMMIT, Close, RunCommitted, TimersFired
from dex.engine.flows.state import attributes, channels, history, outbox, runs, steps
from dex.engine.flows.state.closing import close_naturally
from dex.engine.flows.state.runs import Run
from dex.engine.flows.state.steps import Step
from dex.wcl.commands.flowresults import Accepted, Published
from dex.wcl.errors import FlowNotActiveOrNotFoundError, Refused


def commit(apply: Apply, record: RunCommitted) -> Outcome:
    """Write the effects of a handler or call.

    Raises:
        FlowNotActiveOrNotFoundError: the run is closed, or the step execution is over.
        FlowClosingError: the run is closing, and this is not accepted any more (spec: FL-15).
        RPCLockConflict: another process has written a locked attribute (spec: FL-07).
        ChannelMessageNotFoundError: a message to delete is not pending.
        Refused: there is more to write than one commit may.
    """
    run = runs.active(apply.connection, record.run_id)
    step = _check(apply, run, record)
    event = history.last_number(apply.connection, run.id) + 1
    changes = attributes.write(apply.connection, run.id, apply.seq, record.writes, record.guard)
    outbox.mark_writes(apply, run, record.writes)
    ids = channels.publish(apply, run.id, event, record.publishes) if record.publishes else []
    if record.deletes:
        channels.consume(apply.connection, event, [id_ for _, id_ in record.deletes])
    detail: dict[str, Any] = dict(record.detail)
    if step is not None and record.step is not None:
        steps.finish(apply, step, event, record.step)
    if run.closing is None:
        _go_on(apply, run, event, record, detail)
    if record.kind == "timeout" and "close" not in detail:
        runs.clear_timeout(apply.connection, run)
    if ids:
        detail["published"] = len(ids)
    history.add(apply, run.id, event, record.kind, detail, changes)
    if record.kind == "published":
        return Outcome(Published(seq=apply.seq, run_id=run.run_id, message_ids=[str(id_) for id_ in ids]))
    return Outcome(Accepted(seq=apply.seq, run_id=run.run_id))


def fire_timers(apply: Apply, record: TimersFired) -> Outcome:
    """Fire timers of a waiting step, which may end its wait.

    Raises:
        FlowNotActiveOrNotFoundError: the run is closed, or the step does not wait.
    """
    run = runs.active(apply.connection, record.run_id)
    step = steps.get(apply.connection, run.id, record.type, record.number)
    if step is None or step.status != "waiting":
        raise _step_over(run, f"{record.type}-{record.number}", "is not waiting")
    event = history.last_number(apply.connection, run.id) + 1
    steps.fire(apply, step, record.timers)
    settled = steps.settle_wait(apply, run.id, event, record.type, record.number)
    history.add(apply, run.id, event, "timer_fired", {"step": step.execution_id, "ready": settled}, [])
    return Outcome(Accepted(seq=apply.seq, run_id=run.run_id))


def _check(apply: Apply, run: Run, record: RunCommitted) -> Step | None:
    """Judge whether a commit still fits the run; give the step execution it is about, if any."""
    if max(len(record.writes), len(record.publishes)) > MAX_PER_COMMIT:
        raise Refused(
            f"one commit may write {MAX_PER_COMMIT} attributes and as many messages", "do it in several calls or steps"
        )
    if run.closing is not None and record.kind in ("step", "messages_deleted", "timeout"):
        raise runs.closing(run, "that")
    if record.guard:
        found = attributes.versions(apply.connection, run.id, (key for key, _ in record.guard))
        for key, version in record.guard:
            if found.get(key, 0) != version:
                raise lock_conflict(run.flow_id, key)
    channels.check_pending(apply.connection, run.id, record.deletes)
    if record.step is None:
        return None
    step = steps.get(apply.connection, run.id, record.step.type, record.step.number)
    if step is None or step.ended_event is not None or step.attempt != record.step.attempt or step.status != "ready":
        raise _step_over(run, f"{record.step.type}-{record.step.number}", "is over or was tried by another worker")
    return step


def _go_on(apply: Apply, run: Run, event: int, record: RunCommitted, detail: dict[str, Any]) -> None:
    """Add the next steps, or close; then let waiting steps see what was published."""
    new = list(record.steps)
    close = record.close
    while close is not None and close.if_empty and channels.any_pending(apply.connection, run.id):
        new.extend(close.fallback)
        close = close.otherwise
    if new:
        detail["steps"] = steps.add(apply, run.id, event, new, apply.at)
    close = _effective(apply, run, close, detail, ended=record.step is not None)
    if close is not None:
        detail["close"] = close_naturally(apply, run, event, close, held=record.held)
        detail["status"] = close.status
        return
    settled = _settled(apply, run, event, record)
    if settled:
        detail["ready"] = settled


def _settled(apply: Apply, run: Run, event: int, record: RunCommitted) -> list[str]:
    """Make steps ready that this commit lets go on: any that waits where it publishes, else the one that now waits."""
    if record.publishes:
        return steps.settle_waits(apply, run.id, event)
    if record.step is not None and record.step.outcome == "waiting":
        return steps.settle_wait(apply, run.id, event, record.step.type, record.step.number)
    return []


def _effective(apply: Apply, run: Run, close: Close | None, detail: dict[str, Any], *, ended: bool) -> Close | None:
    """Give the close that takes effect now: a graceful one only once no step is left."""
    if close is not None and not close.graceful:
        return close
    if close is not None:
        runs.set_graceful(apply.connection, run, close)
        # Time travel finds it here.
        detail["output"] = close.output
    elif run.graceful is None or not ended:
        return None
    return None if steps.any_open(apply.connection, run.id) else close or run.graceful


def _step_over(run: Run, execution_id: str, why: str) -> FlowNotActiveOrNotFoundError:
    return FlowNotActiveOrNotFoundError(
        f"step {execution_id} of Flow {run.flow_id!r} {why}",
        "look at it with `dex flow state`",
        flow_id=run.flow_id,
        step_execution_id=execution_id,
    )
