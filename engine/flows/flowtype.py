"""FlowType: a Flow's class, checked and compiled once for the runtime."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from dex.engine.flows.access import Access
from dex.engine.flows.annotations import generic_argument
from dex.engine.flows.codec import check_type, encode_input
from dex.engine.flows.flow import Flow
from dex.engine.flows.rpc import RPCInvokeOptions
from dex.engine.flows.rpctype import RPCType, compile_rpcs
from dex.engine.flows.schema import PersistenceSchema
from dex.engine.flows.step import StepList
from dex.engine.flows.steptype import StepType, compile_steps, missing
from dex.wcl.errors import FlowDefinitionError, Refused
from dex.wcl.names import check_name


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
        if name not in self.steps:
            raise missing(f"Flow {self.name} has no Step", name, self.steps)
        return self.steps[name]

    def rpc(self, name: str) -> RPCType:
        """Give an RPC by its name.

        Raises:
            FlowDefinitionError: the Flow has none of this name, with the nearest.
        """
        if name not in self.rpcs:
            raise missing(f"Flow {self.name} has no RPC", name, self.rpcs)
        return self.rpcs[name]

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
        return encode_input(value, self.input_type, f"Flow {self.name}")


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
    try:
        return _compiled(flow)
    except Refused as error:
        name = type(flow).__name__
        raise FlowDefinitionError(
            f"Flow {name}: {error.message}", error.remedy, **{**error.facts, "flow_type": name}
        ) from error


def _compiled(flow: Flow[Any]) -> FlowType:
    name = flow.get_flow_type()
    check_name(name, "Flow type")
    schema = flow.get_persistence_schema()
    if not isinstance(schema, PersistenceSchema):
        raise FlowDefinitionError("get_persistence_schema returns no schema", "return PersistenceSchema.of(…)")
    listed = flow.get_steps()
    if not isinstance(listed, StepList):
        raise FlowDefinitionError("get_steps returns no StepList", "return StepList.start_step(…)")
    steps = compile_steps(listed.steps, schema)
    start = steps[listed.start.get_step_type()] if listed.start is not None else None
    declared = generic_argument(type(flow), Flow)
    input_type = start.input_type if declared is Any and start is not None else declared
    check_type(input_type, "the start input")
    handles_timeout = type(flow).handle_timeout is not Flow.handle_timeout
    return FlowType(name, flow, schema, steps, start, compile_rpcs(type(flow), schema), input_type, handles_timeout)
