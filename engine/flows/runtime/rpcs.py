"""RPCs: lock, load, call, commit (spec: FL-05 … FL-07)."""

import sqlite3
from functools import partial
from typing import Any, NamedTuple

from dex.engine.flows import codec
from dex.engine.flows.access import Access
from dex.engine.flows.context import Context
from dex.engine.flows.edge import from_edge
from dex.engine.flows.flowtype import FlowType
from dex.engine.flows.records import RunCommitted
from dex.engine.flows.rpctype import RPCType
from dex.engine.flows.runtime import effects
from dex.engine.flows.runtime.handlers import Call
from dex.engine.flows.runtime.loading import Loaded, load
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.state import runs
from dex.engine.flows.state.runs import Run
from dex.wcl.commands.flowresults import RpcAnswer
from dex.wcl.commands.flows import Encoded, InvokeRpc
from dex.wcl.errors import DexError, FlowDefinitionError, RPCLockConflict, ValueMappingError


class _Plan(NamedTuple):
    """What a call is about: a run that was the latest of its Flow ID when it was looked at, and its RPC."""

    run: Run
    flow_type: FlowType
    rpc: RPCType
    access: Access
    input: list[Any]

    @property
    def is_exclusive(self) -> bool:
        """Whether a close has to wait for the call, and refuses it once it waits (spec: FL-14, FL-15)."""
        return bool(self.access.locks) or self.rpc.definition.options.is_transactional

    @property
    def is_brief(self) -> bool:
        """Whether it loads few values, as they were committed last."""
        return self.is_exclusive and not self.access.maps and not self.access.channels


class _SupersededError(Exception):
    """The run of a plan is not the latest of its Flow ID any more."""


def invoke(parts: Parts, command: InvokeRpc) -> RpcAnswer:
    """Call an RPC and give its answer; a call without effects commits nothing.

    Raises:
        FlowNotFoundError, FlowNotActiveOrNotFoundError: the Flow has no run, or it is closed.
        FlowDefinitionError: the Flow has no such RPC, what is locked or loaded is not declared, or an RPC that is to be
            read-only is not declared so or has written.
        FlowClosingError: the run is closing, and the call is transactional or locking (spec: FL-15).
        RPCLockConflict: a lock is held by another call; the handler did not run.
        WorkerInvocationError, RequestTimeoutError: the handler failed or overran; nothing was kept.
    """
    plan = _remembered(parts, command)
    while True:
        plan = plan or _looked_up(parts, command)
        try:
            return _carry_out(parts, plan)
        except _SupersededError:
            plan = None
        except RPCLockConflict:
            _looked_up(parts, command)  # a run that is closing, or closed, says so
            raise


def _remembered(parts: Parts, command: InvokeRpc) -> _Plan | None:
    """Plan a call of the run that was called last, None where that does not fit: there may be a newer one."""
    run = parts.called.get(command.flow_id)
    try:
        return None if run is None else _plan(parts, run, command)
    except DexError:
        return None


def _looked_up(parts: Parts, command: InvokeRpc) -> _Plan:
    run = parts.find_run(command.flow_id)
    if not run.running:
        raise runs.not_active(command.flow_id, run)
    plan = _plan(parts, run, command)
    if plan.is_exclusive:
        _refuse_closing(run)
    return plan


def _plan(parts: Parts, run: Run, command: InvokeRpc) -> _Plan:
    flow_type = parts.registry.get(run.type)
    rpc = flow_type.rpc(command.rpc)
    if command.read_only and not rpc.definition.options.read_only:
        raise FlowDefinitionError(
            f"RPC {rpc.name} of Flow {flow_type.name} is not declared read-only", "declare it by @rpc(read_only=True)"
        )
    return _Plan(run, flow_type, rpc, _access(flow_type, rpc, command), _input(rpc, command.input))


def _carry_out(parts: Parts, plan: _Plan) -> RpcAnswer:
    if not plan.is_exclusive:
        return _call(parts, plan)
    run = plan.run
    parts.locks.admit(run.run_id)
    try:
        with parts.locks.hold(run.flow_id, plan.access.locks):
            return _call(parts, plan)
    finally:
        parts.leave(run.run_id)


def _refuse_closing(run: Run) -> None:
    if run.closing is not None:
        raise runs.closing(run, "a transactional or locking RPC")


def _call(parts: Parts, plan: _Plan) -> RpcAnswer:
    run, flow_type, rpc = plan.run, plan.flow_type, plan.rpc
    loaded = (parts.read_briefly if plan.is_brief else parts.read)(partial(_load, plan=plan))
    parts.remember(run)
    call = Call(f"RPC {rpc.name} of Flow {flow_type.name}", rpc.definition.options.timeout)
    context = Context(
        loaded.workspace, flow_id=run.flow_id, run_id=run.run_id, cancellation_requested=call.cancelled.is_set
    )
    result = rpc.definition.check_result(call.run(rpc.definition.function, flow_type.flow, context, *plan.input))
    rpc.encode_output(result.output)
    _commit(parts, run, rpc, loaded, effects.next_steps(flow_type, result.next_steps))
    return RpcAnswer(output=result.output, run_id=run.run_id)


def _load(connection: sqlite3.Connection, plan: _Plan) -> Loaded:
    """Load what the handler may read, once the run is still the one to call."""
    if not runs.is_open(connection, plan.run):
        _check_latest(connection, plan)
    return load(connection, plan.run.id, plan.flow_type, plan.access, None)


def _check_latest(connection: sqlite3.Connection, plan: _Plan) -> None:
    """Refuse a run that is not the one to call."""
    now = runs.latest(connection, plan.run.flow_id)
    if now is None or now.id != plan.run.id:
        raise _SupersededError
    if not now.running:
        raise runs.not_active(now.flow_id, now)
    if plan.is_exclusive:
        _refuse_closing(now)


def _commit(parts: Parts, run: Run, rpc: RPCType, loaded: Loaded, steps: list[Any]) -> None:
    if not steps and not loaded.workspace.has_effects:
        return
    if rpc.definition.options.read_only:
        raise FlowDefinitionError(
            f"RPC {rpc.name} is declared read-only, and it would have changed Flow {run.flow_id!r}; nothing was kept",
            "take read_only from its @rpc(…)",
        )
    fields = effects.of_workspace(loaded.workspace)
    fields["detail"]["rpc"] = rpc.name
    parts.commit(RunCommitted(run_id=run.run_id, kind="rpc", guard=loaded.guard, steps=steps, **fields))


def _access(flow_type: FlowType, rpc: RPCType, command: InvokeRpc) -> Access:
    if not command.lock and not command.load and not command.load_channels:
        return rpc.access
    schema = flow_type.schema
    return rpc.access.union(
        Access(
            locks=frozenset(schema.attribute_key(key) for key in command.lock),
            instances=frozenset(schema.attribute_key(key) for key in command.load),
            channels=frozenset(schema.channel_key(key) for key in command.load_channels),
        )
    )


def _input(rpc: RPCType, value: Any) -> list[Any]:
    """Give the handler's input as a list of one, or of none where it takes none.

    Raises:
        ValueMappingError: it is not of the RPC's input type, with the path of the field.
    """
    declared = rpc.definition.input_type
    try:
        decoded = codec.decode(value.data, declared) if isinstance(value, Encoded) else from_edge(value, declared)
    except ValueMappingError as error:
        raise rpc.wrong_input(value, error) from error
    return [decoded] if rpc.definition.takes_input else []
