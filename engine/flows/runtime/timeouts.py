"""Flows that run out of time: failed, canceled, or asked what to do (spec: FL-14)."""

from dex.engine.flows.access import Access
from dex.engine.flows.context import Context
from dex.engine.flows.decision import check_decision
from dex.engine.flows.flowtype import FlowType
from dex.engine.flows.records import Close, Ending, RunCommitted
from dex.engine.flows.runtime import effects
from dex.engine.flows.runtime.handlers import Call
from dex.engine.flows.runtime.loading import load
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.runtime.stepping import commit_close, process_ended, storable
from dex.engine.flows.state import runs
from dex.engine.flows.state.runs import Run
from dex.wcl.errors import ChannelMessageNotFoundError, DexError, Refused

_ERROR = "the Flow timed out"


def time_out(parts: Parts, run: Run, flow_type: FlowType, *, lost: bool = False) -> None:
    """Do what the run's policy says. A handler that fails lets the Flow fail, and so does one that is `lost`.

    Raises:
        DexError: the commit did not fit the state any more.
    """
    if run.timeout_policy == "handler" and flow_type.has_timeout_handler:
        try:
            if lost:
                raise process_ended(_handler(flow_type))
            record = _ask(parts, run, flow_type)
        except DexError as error:
            parts.failures.note(_handler(flow_type), error)
            record = _closed(run, "failed", f"{_ERROR}, and its handler failed: {storable(error)}")
    else:
        record = _closed(run, "canceled" if run.timeout_policy == "cancel" else "failed", _ERROR)
    try:
        commit_close(parts, record)
    except (ChannelMessageNotFoundError, Refused) as error:
        commit_close(parts, _closed(run, "failed", f"{_ERROR}, and its handler failed: {storable(error)}"))


def _closed(run: Run, status: Ending, error: str) -> RunCommitted:
    close = Close(status, error=error)
    return RunCommitted(run_id=run.run_id, kind="timeout", close=close, detail={"error": error})


def _ask(parts: Parts, run: Run, flow_type: FlowType) -> RunCommitted:
    with parts.readers.snapshot() as snapshot:
        runs.active(snapshot.connection, run.run_id)
        loaded = load(snapshot.connection, run.id, flow_type, Access(), None)
    handler = _handler(flow_type)
    call = Call(handler, None)
    context = Context(loaded.workspace, flow_id=run.flow_id, run_id=run.run_id)
    decision = check_decision(call.run(flow_type.flow.handle_timeout, context), handler)
    steps, close = effects.of_decision(flow_type, decision)
    fields = effects.of_workspace(loaded.workspace)
    return RunCommitted(run_id=run.run_id, kind="timeout", steps=steps, close=close, **fields)


def _handler(flow_type: FlowType) -> str:
    return f"{flow_type.name}.handle_timeout"
