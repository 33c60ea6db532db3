"""StepType: a Step of a Flow, checked and compiled (spec: FL-08)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dex.engine.flows.access import Access
from dex.engine.flows.annotations import annotation_of, check_timeout, generic_argument, parameters
from dex.engine.flows.codec import check_type, decode, encode_input
from dex.engine.flows.decision import StepDecision, check_decision, wrong_result
from dex.engine.flows.schema import PersistenceSchema
from dex.engine.flows.step import Step, StepOptions
from dex.engine.flows.wait import ChannelCondition, Wait
from dex.wcl.errors import FlowDefinitionError
from dex.wcl.names import check_name, did_you_mean


@dataclass(frozen=True, slots=True)
class StepType:
    """A Step of a FlowType. `waits` tells whether it has a `wait_for`."""

    name: str
    step: Step[Any]
    input_type: Any
    options: StepOptions
    waits: bool
    wait_for_access: Access
    execute_access: Access
    schema: PersistenceSchema

    def encode_input(self, value: Any) -> bytes:
        """Give the stored form of an input.

        Raises:
            ValueMappingError: it is not of the Step's input type.
        """
        return encode_input(value, self.input_type, f"Step {self.name}")

    def decode_input(self, data: bytes) -> Any:
        """Read a stored input."""
        return decode(data, self.input_type)

    def check_decision(self, result: Any) -> StepDecision:
        """Give what `execute` returned, once it is a StepDecision.

        Raises:
            InvalidStepResultError: it is something else.
        """
        return check_decision(result, f"{self.name}.execute")

    def check_wait(self, result: Any) -> Wait:
        """Give what `wait_for` returned, once it is a Wait for Channels that the Flow declares.

        Raises:
            InvalidStepResultError: it is something else.
            FlowDefinitionError: a Channel is not declared.
        """
        if not isinstance(result, Wait):
            raise wrong_result(f"{self.name}.wait_for", result, "return a Wait such as Wait.until(channel.for_one())")
        for condition in result.conditions:
            if isinstance(condition, ChannelCondition):
                self.schema.channel_of_key(condition.channel)
        return result


def compile_steps(listed: Iterable[Step[Any]], schema: PersistenceSchema) -> dict[str, StepType]:
    """Give the Steps of a Flow by their types.

    Raises:
        FlowDefinitionError: one is no Step, two have one type, or one names what the schema or Flow does not have.
    """
    steps: dict[str, StepType] = {}
    for step in listed:
        compiled = _step(step, schema)
        if compiled.name in steps:
            raise FlowDefinitionError(f"two Steps have the type {compiled.name}", "override get_step_type in one")
        steps[compiled.name] = compiled
    for compiled in steps.values():
        follower = compiled.options.execute_failure_step
        if follower is not None and follower not in steps:
            raise missing(f"Step {compiled.name} goes on after a failure with", follower, steps)
    return steps


def _step(step: Any, schema: PersistenceSchema) -> StepType:
    if not isinstance(step, Step):
        raise FlowDefinitionError(f"{step!r} is no Step", "list subclasses of Step")
    kind, name, options = type(step), step.get_step_type(), step.get_step_options()
    check_name(name, "Step type")
    check_timeout(options.wait_for_method_timeout, f"{name}.wait_for")
    check_timeout(options.execute_method_timeout, f"{name}.execute")
    if kind.execute is Step.execute:
        raise FlowDefinitionError(f"Step {name} has no execute", "define execute(self, context, input)")
    waits = kind.wait_for is not Step.wait_for
    for method in [kind.execute, *([kind.wait_for] if waits else [])]:
        if len(parameters(method)) != 2:
            raise FlowDefinitionError(
                f"{method.__qualname__} takes {len(parameters(method))} arguments besides self",
                "declare (self, context, input)",
            )
    input_type = generic_argument(kind, Step)
    if input_type is Any:
        input_type = annotation_of(parameters(kind.execute)[1], kind.execute)
    check_type(input_type, f"the input of Step {name}")
    return StepType(name, step, input_type, options, waits, *_step_access(options, schema), schema)


def _step_access(options: StepOptions, schema: PersistenceSchema) -> tuple[Access, Access]:
    wait_for = schema.access(
        locks=options.wait_for_lock_attributes,
        maps=options.wait_for_load_attribute_maps,
        instances=options.wait_for_load_attribute_map_instances,
        channels=options.wait_for_load_channels,
    )
    execute = schema.access(
        locks=options.execute_lock_attributes,
        maps=options.execute_load_attribute_maps,
        instances=options.execute_load_attribute_map_instances,
        channels=options.execute_load_channels,
    )
    return wait_for, execute


def missing(message: str, name: str, known: Iterable[str]) -> FlowDefinitionError:
    """Give the error for a name that a Flow does not have, with the nearest or all that it has."""
    listed = sorted(known)
    remedy = did_you_mean(name, listed) or ("there are " + ", ".join(listed) if listed else "it has none at all")
    return FlowDefinitionError(f"{message} {name}", remedy, name=name, known=listed)
