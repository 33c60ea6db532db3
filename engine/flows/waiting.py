"""Commands that wait for something of a Flow, bounded (spec: FL-10)."""

from typing import Any

from dex.engine.flows import codec
from dex.engine.flows.edge import from_edge
from dex.engine.flows.inspecting import plain
from dex.engine.flows.polling import must, poll
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.state import attributes, runs, steps
from dex.engine.reader import Snapshot
from dex.wcl.commands.flows import (
    AttributeReached,
    Encoded,
    FlowResult,
    StepResult,
    WaitForAttribute,
    WaitForFlow,
    WaitForStep,
)
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

    return must(poll(parts, command.wait_ms, look), f"Flow {command.flow_id!r} did not close", command.wait_ms)


def for_step(parts: Parts, command: WaitForStep) -> StepResult:
    """Wait until a step, by its type (its first execution) or execution id, is over.

    Raises:
        FlowDefinitionError: the Flow has no such Step, with the nearest.
        FlowClosingError: the run is closing (spec: FL-15).
        FlowNotActiveOrNotFoundError: the run is closed, and the step was never over.
        LongPollTimeoutError: it was not over in time.
    """
    type_, number = steps.split_id(command.step) or (command.step, 1)

    def look(snapshot: Snapshot) -> StepResult | None:
        run = runs.find(snapshot.connection, command.flow_id, None)
        if run.type in parts.registry.types:
            parts.registry.get(run.type).step(type_)
        if run.closing is not None:
            raise runs.closing(run, "waiting for a step")
        step = steps.get(snapshot.connection, run.id, type_, number)
        if step is not None and step.status in ("completed", "failed"):
            status: Any = step.status
            return StepResult(step_execution_id=step.execution_id, status=status, error=step.error)
        if not run.running:
            raise runs.not_active(command.flow_id, run)
        return None

    return must(poll(parts, command.wait_ms, look), f"step {command.step!r} was not over", command.wait_ms)


def for_attribute(parts: Parts, command: WaitForAttribute) -> AttributeReached:
    """Wait until an attribute has a value.

    Raises:
        FlowClosingError: the run is closing (spec: FL-15).
        FlowNotActiveOrNotFoundError: the run is closed, and the attribute has another value.
        LongPollTimeoutError: it had another value all the time.
    """
    with parts.readers.snapshot() as snapshot:
        run_type = runs.find(snapshot.connection, command.flow_id, None).type
    schema = parts.registry.get(run_type).schema
    declared, key = schema.attribute_of_key(command.name).value_type, schema.attribute_key(command.name)
    try:
        wanted = _stored(command.value, declared)
    except ValueMappingError as error:
        raise error.within(f"Attribute {key}") from error

    def look(snapshot: Snapshot) -> AttributeReached | None:
        run = runs.find(snapshot.connection, command.flow_id, None)
        if run.closing is not None:
            raise runs.closing(run, "waiting for an attribute")
        found = attributes.load(snapshot.connection, run.id, [key]).get(key)
        if (None if found is None else found.data) == wanted:
            reached = None if wanted is None else codec.decode(wanted, declared)
            return AttributeReached(name=key, value=reached)
        if not run.running:
            raise runs.not_active(command.flow_id, run)
        return None

    return must(poll(parts, command.wait_ms, look), f"{command.name!r} did not get that value", command.wait_ms)


def _stored(value: Any, declared: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, Encoded):
        return value.data
    return codec.encode(from_edge(value, declared), declared)
