"""Starting runs: who gets the Flow ID is decided here, by journal order (spec: FL-01, FL-02)."""

from dex.engine.apply import Apply, Outcome
from dex.engine.flows.records import RunStarted
from dex.engine.flows.state import attributes, history, outbox, runs, steps
from dex.engine.flows.state.closing import stop_run
from dex.engine.flows.state.runs import Run
from dex.wcl.commands.flowresults import FlowStarted
from dex.wcl.errors import FlowAlreadyStartedError

_FAILED = ("failed", "canceled", "terminated")


def start(apply: Apply, record: RunStarted) -> Outcome:
    """Make a run, or find the one that the same request made.

    Raises:
        FlowAlreadyStartedError: the id is taken, and its policy does not let it be used again.
    """
    previous = runs.latest(apply.connection, record.flow_id)
    if previous is not None:
        same = (
            None if record.request_id is None else runs.of_request(apply.connection, record.flow_id, record.request_id)
        )
        if same is not None and same.type == record.type:
            return _found(same)
        if not _may_reuse(previous, record):
            raise _taken(previous, record)
        if previous.running:
            stop_run(apply, previous, "terminated", "its Flow ID was started again")
    run = Run(
        id=apply.seq,
        run_id=record.run_id,
        flow_id=record.flow_id,
        type=record.type,
        status="running",
        closing=None,
        graceful=None,
        attribute_stores=record.attribute_stores,
        input=record.input,
        output=None,
        error=None,
        request_id=record.request_id,
        previous_run_id=None,
        started_at=apply.at,
        closed_at=None,
        timeout_at=apply.at + record.start_delay_ms + record.timeout_ms if record.timeout_ms else None,
        timeout_policy=record.timeout_policy,
        retry_policy=record.retry_policy,
    )
    runs.insert(apply.connection, run)
    changes = attributes.write(apply.connection, run.id, apply.seq, record.writes)
    outbox.mark_writes(apply, run, record.writes)
    added = steps.add(apply, run.id, 1, record.steps, apply.at + record.start_delay_ms)
    history.add(apply, run.id, 1, "started", {"steps": added}, changes)
    return Outcome(FlowStarted(flow_id=run.flow_id, run_id=run.run_id, started=True))


def _may_reuse(previous: Run, record: RunStarted) -> bool:
    match record.id_reuse:
        case "disallow":
            return False
        case "allow_if_previous_failed":
            return previous.status in _FAILED
        case "allow_terminate_if_running":
            return True
        case _:
            return not previous.running


def _found(previous: Run) -> Outcome:
    return Outcome(FlowStarted(flow_id=previous.flow_id, run_id=previous.run_id, started=False), wrote=False)


def _taken(previous: Run, record: RunStarted) -> FlowAlreadyStartedError:
    other = f" as a {previous.type}" if previous.type != record.type else ""
    return FlowAlreadyStartedError(
        f"Flow {previous.flow_id!r} is already there{other}, {previous.status} (run {previous.run_id})",
        "use another Flow ID, another policy of id reuse, or the request id of the first start",
        flow_id=previous.flow_id,
        run_id=previous.run_id,
        status=previous.status,
    )
