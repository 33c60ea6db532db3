"""FlowType: a Flow's class, checked and compiled once for the runtime."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from dex.engine.flows import codec
from dex.engine.flows.access import Access
from dex.engine.flows.annotations import annotation_of, generic_argument, parameters
from dex.engine.flows.decision import StepDecision
from dex.engine.flows.flow import Flow
from dex.engine.flows.rpc import RPC, RPCInvokeOptions
from dex.engine.flows.schema import PersistenceSchema
from dex.engine.flows.step import Step, StepList, StepOptions
from dex.engine.flows.wait import Wait
from dex.wcl.errors import FlowDefinitionError, InvalidStepResultError, Refused, ValueMappingError
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

    def encode_input(self, value: Any) -> bytes:
        """Give the stored form of an input.

        Raises:
            ValueMappingError: it is not of the Step's input type.
        """
        return _encode(value, self.input_type, f"input of Step {self.name}")

    def decode_input(self, data: bytes) -> Any:
        """Read a stored input."""
        return codec.decode(data, self.input_type)

    def check_decision(self, result: Any) -> StepDecision:
        """Give what `execute` returned, once it is a StepDecision.

        Raises:
            InvalidStepResultError: it is something else.
        """
        return check_decision(result, f"{self.name}.execute")

    def check_wait(self, result: Any) -> Wait:
        """Give what `wait_for` returned, once it is a Wait.

        Raises:
            InvalidStepResultError: it is something else.
        """
        if isinstance(result, Wait):
            return result
        raise _returned(f"{self.name}.wait_for", result, "return a Wait such as Wait.until(channel.for_one())")


@dataclass(frozen=True, slots=True)
class RPCType:
    """An RPC of a FlowType."""

    name: str
    definition: RPC[Any, Any]
    access: Access

    @property
    def is_locking(self) -> bool:
        """Whether the declaration takes locks; an invocation may add some."""
        return bool(self.access.locks)

    def encode_input(self, value: Any) -> bytes:
        """Give the stored form of an input.

        Raises:
            ValueMappingError: it is not of the RPC's input type.
        """
        return _encode(value, self.definition.input_type, f"input of RPC {self.name}")

    def encode_output(self, value: Any) -> bytes:
        """Give the stored form of an output.

        Raises:
            ValueMappingError: it is not of the RPC's output type.
        """
        return _encode(value, self.definition.output_type, f"output of RPC {self.name}")


@dataclass(frozen=True, slots=True)
class FlowType:
    """All that the runtime knows of a Flow's class, through one instance of it that serves all runs."""

    name: str
    flow: Flow[Any]
    schema: PersistenceSchema
    steps: dict[str, StepType]
    start_step: StepType | None
    rpcs: dict[str, RPCType]
    input_type: Any
    has_timeout_handler: bool

    @classmethod
    def of(cls, target: Flow[Any] | type[Flow[Any]]) -> "FlowType":
        """Compile a Flow, once for a class; an instance is compiled as it is.

        Raises:
            FlowDefinitionError: it contradicts itself, with `flow_type` and what is wrong.
        """
        if isinstance(target, type) and issubclass(target, Flow):
            return _of_class(target)  # type: ignore[arg-type]  # mypy takes the hash of instances for the class's
        if isinstance(target, Flow):
            return _compile(target)
        raise FlowDefinitionError(f"{target!r} is no Flow", "pass a subclass of Flow or an instance of one")

    def step(self, name: str) -> StepType:
        """Give a Step by its type.

        Raises:
            FlowDefinitionError: the Flow has none of this type, with the nearest.
        """
        return self.steps.get(name) or _missing(f"Flow {self.name} has no Step", name, self.steps)

    def rpc(self, name: str) -> RPCType:
        """Give an RPC by its name.

        Raises:
            FlowDefinitionError: the Flow has none of this name, with the nearest.
        """
        return self.rpcs.get(name) or _missing(f"Flow {self.name} has no RPC", name, self.rpcs)

    def rpc_access(self, rpc: RPCType, options: RPCInvokeOptions | None) -> Access:
        """Give what a call locks and loads: the declaration's and the invocation's, united (spec: FL-05).

        Raises:
            FlowDefinitionError: the invocation names something that the Flow does not declare.
        """
        if options is None:
            return rpc.access
        return rpc.access.union(
            self.schema.access(
                locks=options.lock_attribute_map_instances,
                instances=options.load_attribute_map_instances,
                channel_instances=options.load_channel_map_instances,
            )
        )

    def encode_input(self, value: Any) -> bytes:
        """Give the stored form of a start input.

        Raises:
            ValueMappingError: it is not of the Flow's input type.
        """
        return _encode(value, self.input_type, f"input of Flow {self.name}")


def check_decision(result: Any, handler: str) -> StepDecision:
    """Give what a handler returned, once it is a StepDecision.

    Raises:
        InvalidStepResultError: it is something else.
    """
    if isinstance(result, StepDecision) and type(result) is not StepDecision:
        return result
    raise _returned(handler, result, "return a StepDecision such as go_to(…) or graceful_complete(…)")


def _returned(handler: str, result: Any, remedy: str) -> InvalidStepResultError:
    kind = type(result).__name__
    return InvalidStepResultError(f"{handler} returned {kind}", remedy, handler=handler, returned=kind)


def _encode(value: Any, declared: Any, what: str) -> bytes:
    try:
        return codec.encode(value, declared)
    except ValueMappingError as error:
        raise error.within(what) from error


def _missing(message: str, name: str, known: Iterable[str]) -> Any:
    listed = sorted(known)
    remedy = did_you_mean(name, listed) or ("there are " + ", ".join(listed) if listed else "it has none at all")
    raise FlowDefinitionError(f"{message} {name}", remedy, name=name, known=listed)


@cache
def _of_class(cls: type[Flow[Any]]) -> FlowType:
    try:
        flow = cls()
    except TypeError as error:
        raise FlowDefinitionError(
            f"Flow {cls.__name__} cannot be made without arguments: {error}", "register an instance of it"
        ) from error
    return _compile(flow)


def _compile(flow: Flow[Any]) -> FlowType:
    name = flow.get_flow_type()
    check_name(name, "Flow type")
    try:
        return _compiled(flow, name)
    except Refused as error:
        raise FlowDefinitionError(
            f"Flow {name}: {error.message}", error.remedy, **{**error.facts, "flow_type": name}
        ) from error


def _compiled(flow: Flow[Any], name: str) -> FlowType:
    schema = flow.get_persistence_schema()
    if not isinstance(schema, PersistenceSchema):
        raise FlowDefinitionError("get_persistence_schema returns no schema", "return PersistenceSchema.of(…)")
    listed = flow.get_steps()
    if not isinstance(listed, StepList):
        raise FlowDefinitionError("get_steps returns no StepList", "return StepList.start_step(…)")
    steps = _steps(listed, schema)
    start = steps[listed.start.get_step_type()] if listed.start is not None else None
    declared = generic_argument(type(flow), Flow)
    input_type = start.input_type if declared is Any and start is not None else declared
    codec.check_type(input_type, "the start input")
    handles_timeout = type(flow).handle_timeout is not Flow.handle_timeout
    return FlowType(name, flow, schema, steps, start, _rpcs(type(flow), schema), input_type, handles_timeout)


def _steps(listed: StepList, schema: PersistenceSchema) -> dict[str, StepType]:
    steps: dict[str, StepType] = {}
    for step in listed.steps:
        compiled = _step(step, schema)
        if compiled.name in steps:
            raise FlowDefinitionError(f"two Steps have the type {compiled.name}", "override get_step_type in one")
        steps[compiled.name] = compiled
    for compiled in steps.values():
        follower = compiled.options.execute_failure_step
        if follower is not None and follower not in steps:
            _missing(f"Step {compiled.name} goes on after a failure with", follower, steps)
    return steps


def _step(step: Any, schema: PersistenceSchema) -> StepType:
    if not isinstance(step, Step):
        raise FlowDefinitionError(f"{step!r} is no Step", "list subclasses of Step")
    kind, name, options = type(step), step.get_step_type(), step.get_step_options()
    check_name(name, "Step type")
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
    codec.check_type(input_type, f"the input of Step {name}")
    return StepType(name, step, input_type, options, waits, *_step_access(options, schema))


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


def _rpcs(cls: type, schema: PersistenceSchema) -> dict[str, RPCType]:
    rpcs: dict[str, RPCType] = {}
    for attribute in dir(cls):
        definition = inspect.getattr_static(cls, attribute)
        if not isinstance(definition, RPC):
            continue
        if definition.name in rpcs:
            raise FlowDefinitionError(f"two RPCs are named {definition.name}", "rename one", name=definition.name)
        check_name(definition.name, "RPC name")
        codec.check_type(definition.input_type, f"the input of RPC {definition.name}")
        codec.check_type(definition.output_type, f"the output of RPC {definition.name}")
        rpcs[definition.name] = RPCType(definition.name, definition, _rpc_access(definition, schema))
    return rpcs


def _rpc_access(definition: RPC[Any, Any], schema: PersistenceSchema) -> Access:
    options = definition.options
    try:
        return schema.access(
            locks=(*options.lock_attributes, *options.lock_attribute_map_instances),
            maps=options.load_attribute_maps,
            instances=options.load_attribute_map_instances,
            channels=options.load_channels,
            channel_instances=options.load_channel_map_instances,
        )
    except FlowDefinitionError as error:
        raise FlowDefinitionError(
            f"RPC {definition.name} locks or loads: {error.message}", error.remedy, **error.facts
        ) from error
