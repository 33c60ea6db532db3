"""Commands that wait for something of a Flow, bounded (spec: FL-10)."""

from typing import Any

from dex.engine.flows import codec
from dex.engine.flows.edge import from_edge
from dex.engine.flows.inspecting import plain
from dex.engine.flows.polling import must, poll
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.state import attributes, outbox, runs, steps
from dex.engine.flows.state.runs import Run
from dex.engine.reader import Snapshot
from dex.wcl.commands.flowresults import AttributeReached, FlowResult, StepResult
from dex.wcl.commands.flows import Encoded, WaitForAttribute, WaitForFlow, WaitForStep
from dex.wcl.errors import ValueMappingError


def for_flow(parts: Parts, command: WaitForFlow) -> FlowResult:
    """Wait until a run is closed, pending writes and admitted calls included (spec: FL-14).

    Raises:
        FlowNotFoundError: there is no such run.
        LongPollTimeoutError: it was not closed in time.
    """

    def look(snapshot: Snapshot) -> FlowResult | None:
        run = runs.find(snapshot.connection, command.flow_id, command.run_id)
        if run.running:
            return None
        return FlowResult(
            flow_id=run.flow_id,
            run_id=run.run_id,
            status=run.status,  # type: ignore[arg-type]  # one of the statuses, as apply wrote it
            output=None if run.output is None else plain(run.output),
            error=run.error,
        )

    what = f"Flow {command.flow_id!r} did not close"
    run = parts.find_run(command.flow_id, command.run_id)
    found = poll(parts, run.run_id, command.wait_ms, look)
    if found is None and _is_waiting_for_sync(parts, command):
        remedy = "it waits for synced Attributes: `dex sync run` writes them, `dex sync backlog` tells why they wait"
        return must(found, what, command.wait_ms, remedy)
    return must(found, what, command.wait_ms)


def _is_waiting_for_sync(parts: Parts, command: WaitForFlow) -> bool:
    with parts.readers.brief() as snapshot:
        run = runs.find(snapshot.connection, command.flow_id, command.run_id)
        return run.closing is not None and outbox.is_pending(snapshot.connection, run.id)


def for_step(parts: Parts, command: WaitForStep) -> StepResult:
    """Wait until a step, by its type (its first execution) or execution id, is over.

    Raises:
        FlowDefinitionError: the Flow has no such Step, with the nearest.
        FlowClosingError: the run is closing (spec: FL-15).
        FlowNotActiveOrNotFoundError: the run is closed, and the step was never over.
        LongPollTimeoutError: it was not over in time.
    """
    run = parts.find_run(command.flow_id)
    if run.closing is not None:
        raise runs.closing(run, "waiting for a step")
    type_, number = _step(parts, run, command.step)

    def look(snapshot: Snapshot) -> StepResult | None:
        run = runs.find(snapshot.connection, command.flow_id, None)
        step = steps.get(snapshot.connection, run.id, type_, number)
        if step is not None and step.status in ("completed", "failed"):
            status: Any = step.status
            return StepResult(step_execution_id=step.execution_id, status=status, error=step.error)
        # It came too late for a wait from before the close, too.
        if run.closing is not None:
            raise runs.closing(run, "waiting for a step")
        if not run.running:
            raise runs.not_active(command.flow_id, run)
        return None

    what = f"step {command.step!r} was not over"
    return must(poll(parts, run.run_id, command.wait_ms, look), what, command.wait_ms)


def for_attribute(parts: Parts, command: WaitForAttribute) -> AttributeReached:
    """Wait until an attribute has a value.

    Raises:
        FlowClosingError: the run is closing (spec: FL-15).
        FlowNotActiveOrNotFoundError: the run is closed, and the attribute has another value.
        LongPollTimeoutError: it had another value all the time.
    """
    run = parts.find_run(command.flow_id)
    if run.closing is not None:
        raise runs.closing(run, "waiting for an attribute")
    schema = parts.registry.get(run.type).schema
    declared, key = schema.attribute_of_key(command.name).value_type, schema.attribute_key(command.name)
    try:
        wanted = _stored(command.value, declared)
    except ValueMappingError as error:
        raise error.within(f"Attribute {key}") from error

    def look(snapshot: Snapshot) -> AttributeReached | None:
        run = runs.find(snapshot.connection, command.flow_id, None)
        found = attributes.load(snapshot.connection, run.id, [key]).get(key)
        if codec.same(None if found is None else found.data, wanted):
            reached = None if wanted is None else codec.decode(wanted, declared)
            return AttributeReached(name=key, value=reached)
        if run.closing is not None:
            raise runs.closing(run, "waiting for an attribute")
        if not run.running:
            raise runs.not_active(command.flow_id, run)
        return None

    what = f"{command.name!r} did not get that value"
    return must(poll(parts, run.run_id, command.wait_ms, look), what, command.wait_ms)


def _step(parts: Parts, run: Run, written: str) -> tuple[str, int]:
    """Give type and number of what a person calls a step: its type, for the first execution, or an execution id.

    Raises:
        FlowDefinitionError: the Flow, as this process knows it, has no such Step, with the nearest.
    """
    known = parts.registry.types.get(run.type)
    if known is not None and written in known.steps:
        return written, 1
    type_, number = steps.split_id(written) or (written, 1)
    if known is not None:
        known.step(type_)
    return type_, number


def _stored(value: Any, declared: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, Encoded):
        return value.data
    return codec.encode(from_edge(value, declared), declared)
