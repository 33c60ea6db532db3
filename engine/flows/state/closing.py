"""Closing runs: a natural close stops the steps at once and may wait; a stop never waits (spec: FL-14, FL-16)."""

import msgspec

from dex.engine.apply import Apply, Outcome
from dex.engine.flows.records import Close, CloseEnded, RunStopped
from dex.engine.flows.state import history, outbox, runs, steps
from dex.engine.flows.state.runs import Run
from dex.wcl.commands.flowresults import Accepted

_STOPPED = {"cancel": "canceled", "fail": "failed", "terminate": "terminated"}


def close_naturally(apply: Apply, run: Run, event: int, close: Close, *, held: bool) -> str:
    """Stop the steps, and close the run unless something holds it open; give `closed` or `closing`.

    `held` tells that transactional or locking RPCs are under way, which may still commit; so do attributes that a store
    has not been told of yet.
    """
    steps.end_all(apply.connection, run.id, event)
    if held or outbox.is_pending(apply.connection, run.id):
        runs.set_closing(apply.connection, run, msgspec.structs.replace(close, held=held))
        return "closing"
    runs.close(apply.connection, run, close.status, apply.at, output=close.output, error=close.error)
    return "closed"


def end_close(apply: Apply, record: CloseEnded) -> Outcome:
    """Close a run whose close need not wait for calls any more, nor for stores; one that is closed stays as it is."""
    run = runs.by_run_id(apply.connection, record.run_id)
    if run is None or not run.running or run.closing is None:
        return Outcome(None, wrote=False)
    close = run.closing
    if outbox.is_pending(apply.connection, run.id):
        if close.held:
            runs.set_closing(apply.connection, run, msgspec.structs.replace(close, held=False))
        return Outcome(None, wrote=close.held)
    runs.close(apply.connection, run, close.status, apply.at, output=close.output, error=close.error)
    event = history.last_number(apply.connection, run.id) + 1
    history.add(apply, run.id, event, "closed", {"status": close.status}, [])
    return Outcome(Accepted(seq=apply.seq, run_id=run.run_id))


def stop(apply: Apply, record: RunStopped) -> Outcome:
    """Close a run at once, also one whose close waits (spec: FL-11).

    Raises:
        FlowNotActiveOrNotFoundError: it is closed.
    """
    run = runs.active(apply.connection, record.run_id)
    stop_run(apply, run, _STOPPED[record.kind], record.reason)
    return Outcome(Accepted(seq=apply.seq, run_id=run.run_id))


def stop_run(apply: Apply, run: Run, status: str, reason: str) -> None:
    """Close a run at once, with an event that says why."""
    event = history.last_number(apply.connection, run.id) + 1
    steps.end_all(apply.connection, run.id, event)
    runs.close(apply.connection, run, status, apply.at, output=None, error=reason or None)
    history.add(apply, run.id, event, "stopped", {"status": status, "reason": reason}, [])
