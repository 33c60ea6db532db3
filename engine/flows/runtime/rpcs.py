"""RPCs: lock, load, call, commit (spec: FL-05 … FL-07)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
from dex.wcl.commands.flows import Encoded, InvokeRpc, RpcAnswer
from dex.wcl.errors import ValueMappingError


def invoke(parts: Parts, command: InvokeRpc) -> RpcAnswer:
    """Call an RPC and give its answer; a call without effects commits nothing.

    Raises:
        FlowNotFoundError, FlowNotActiveOrNotFoundError: the Flow has no run, or it is closed.
        FlowDefinitionError: the Flow has no such RPC, or what is locked or loaded is not declared.
        FlowClosingError: the run is closing, and the call is transactional or locking (spec: FL-15).
        RPCLockConflict: a lock is held by another call; the handler did not run.
        WorkerInvocationError, RequestTimeoutError: the handler failed or overran; nothing was kept.
    """
    with parts.readers.snapshot() as snapshot:
        run = runs.find(snapshot.connection, command.flow_id, None)
    if not run.running:
        raise runs.not_active(command.flow_id, run)
    flow_type = parts.registry.get(run.type)
    rpc = flow_type.rpc(command.rpc)
    access = _access(flow_type, rpc, command)
    value = _input(rpc, command.input)
    if not _is_exclusive(rpc, access):
        return _call(parts, run, flow_type, rpc, access, value)
    if run.closing is not None:
        raise runs.closing(run, "a transactional or locking RPC")
    with _admitted(parts, run), parts.locks.hold(run.flow_id, access.locks):
        return _call(parts, run, flow_type, rpc, access, value)


@contextmanager
def _admitted(parts: Parts, run: Run) -> Iterator[None]:
    parts.locks.admit(run.run_id)
    try:
        yield
    finally:
        parts.leave(run.run_id)


def _is_exclusive(rpc: RPCType, access: Access) -> bool:
    """Tell whether a close has to wait for the call, and refuses it once it waits (spec: FL-14, FL-15)."""
    return bool(access.locks) or rpc.definition.options.is_transactional


def _call(parts: Parts, run: Run, flow_type: FlowType, rpc: RPCType, access: Access, value: list[Any]) -> RpcAnswer:
    with parts.readers.snapshot() as snapshot:
        now = runs.active(snapshot.connection, run.run_id)
        if now.closing is not None and _is_exclusive(rpc, access):
            raise runs.closing(run, "a transactional or locking RPC")
        loaded = load(snapshot.connection, run.id, flow_type, access, None)
    call = Call(f"RPC {rpc.name} of Flow {flow_type.name}", rpc.definition.options.timeout)
    context = Context(
        loaded.workspace, flow_id=run.flow_id, run_id=run.run_id, cancellation_requested=call.cancelled.is_set
    )
    result = rpc.definition.check_result(call.run(rpc.definition.function, flow_type.flow, context, *value))
    rpc.encode_output(result.output)
    _commit(parts, run, rpc, loaded, effects.next_steps(flow_type, result.next_steps))
    return RpcAnswer(output=result.output, run_id=run.run_id)


def _commit(parts: Parts, run: Run, rpc: RPCType, loaded: Loaded, steps: list[Any]) -> None:
    if not steps and not loaded.workspace.has_effects:
        return
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
        raise error.within(f"input of RPC {rpc.name}") from error
    return [decoded] if rpc.definition.takes_input else []
