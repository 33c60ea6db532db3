"""RPCs: calls from outside that a Flow answers in one commit (spec: FL-05, FL-06)."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar, get_args, get_origin, overload

from dex.engine.flows.annotations import annotation_of, parameters, resolved
from dex.engine.flows.attribute import Attribute, AttributeLock, AttributeMap, AttributeMapLoad
from dex.engine.flows.channel import Channel, ChannelMap, ChannelMapLoad
from dex.engine.flows.checking import check_fields
from dex.engine.flows.decision import StepMovement
from dex.wcl.errors import FlowDefinitionError, InvalidCommand, InvalidStepResultError
from dex.wcl.names import did_you_mean

if TYPE_CHECKING:
    from dex.engine.flows.context import Context

Owner = TypeVar("Owner")
Input = TypeVar("Input")
Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class RPCResult(Generic[Output]):
    """What an RPC answers, and the Steps that start with its commit."""

    output: Output = None  # type: ignore[assignment]  # RPCResult[None] has nothing to say
    next_steps: Sequence[StepMovement] = ()


Answer: TypeAlias = RPCResult[Output] | Awaitable[RPCResult[Output]]


@dataclass(frozen=True, slots=True)
class RPCOptions:
    """How an RPC is declared; see `rpc`."""

    name: str | None = None
    timeout: timedelta | None = None
    lock_attributes: Sequence[AttributeLock | Attribute[Any] | str] = ()
    is_transactional: bool = False
    load_attribute_maps: Sequence[AttributeMap[Any] | str] = ()
    load_attribute_map_instances: Sequence[AttributeMapLoad] = ()
    load_channels: Sequence[Channel[Any] | ChannelMap[Any] | str] = ()
    lock_attribute_map_instances: Sequence[AttributeLock] = ()
    load_channel_map_instances: Sequence[ChannelMapLoad] = ()
    read_only: bool = False

    def __post_init__(self) -> None:
        check_fields(self, "@rpc(timeout=timedelta(seconds=5), lock_attributes=(STATUS, PROFILES.lock('alice')))")


@dataclass(frozen=True, slots=True)
class RPCInvokeOptions:
    """What one invocation locks and loads, in addition to the RPC's declaration (spec: FL-05)."""

    lock_attribute_map_instances: Sequence[AttributeLock] = ()
    load_attribute_map_instances: Sequence[AttributeMapLoad] = ()
    load_channel_map_instances: Sequence[ChannelMapLoad] = ()

    def __post_init__(self) -> None:
        check_fields(self, "(load_attribute_map_instances=(PROFILES.load('partition-001'),))")


class RPC(Generic[Input, Output]):
    """A declared RPC. On an instance of its Flow it is a BoundRPC, which `client.invoke_rpc` takes."""

    def __init__(self, function: Callable[..., Any], options: RPCOptions) -> None:
        if not inspect.isfunction(function):
            raise FlowDefinitionError(f"{function!r} is no method", "put @rpc right above a def")
        self.function = function
        self.options = options
        self.name = options.name or function.__name__
        self.is_async = inspect.iscoroutinefunction(function)
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"the RPC {self.function.__qualname__}"

    @overload
    def __get__(self, flow: None, owner: type) -> "RPC[Input, Output]": ...
    @overload
    def __get__(self, flow: object, owner: type) -> "BoundRPC[Input, Output]": ...
    def __get__(self, flow: object | None, owner: type) -> "RPC[Input, Output] | BoundRPC[Input, Output]":
        """Bind to an instance of the Flow, as a method."""
        return self if flow is None else BoundRPC(flow, self)

    @cached_property
    def takes_input(self) -> bool:
        """Whether the handler has an input besides the context.

        Raises:
            FlowDefinitionError: its parameters are not (self, context) or (self, context, input).
        """
        count = len(parameters(self.function))
        if count not in (1, 2):
            raise FlowDefinitionError(
                f"{self.function.__qualname__} takes {count} arguments besides self",
                "declare (self, context) or (self, context, input)",
                name=self.name,
            )
        return count == 2

    @cached_property
    def input_type(self) -> Any:
        """The type of the input: as annotated, Any without annotation, None where there is no input.

        Raises:
            FlowDefinitionError: as `takes_input`, or the annotation is no type.
        """
        return annotation_of(parameters(self.function)[1], self.function) if self.takes_input else type(None)

    @cached_property
    def output_type(self) -> Any:
        """The type of the output: `T` for `-> RPCResult[T]`, else Any.

        Raises:
            FlowDefinitionError: the annotation says that something else is returned.
        """
        written = inspect.signature(self.function).return_annotation
        if written is inspect.Signature.empty:
            return Any
        returned = resolved(written, self.function)
        if returned in (Any, RPCResult):
            return Any
        if get_origin(returned) is not RPCResult:
            raise FlowDefinitionError(
                f"{self.function.__qualname__} returns {returned!r}", "return an RPCResult", name=self.name
            )
        argument = get_args(returned)[0]
        return Any if isinstance(argument, TypeVar) else argument

    def check_result(self, result: Any) -> RPCResult[Output]:
        """Give what the handler returned, once it is an RPCResult.

        Raises:
            InvalidStepResultError: it is something else, or has next steps that are no StepMovements.
        """
        if not isinstance(result, RPCResult):
            raise InvalidStepResultError(
                f"RPC {self.name} returned {type(result).__name__}",
                "return an RPCResult",
                handler=self.name,
                returned=type(result).__name__,
            )
        if not isinstance(result.next_steps, list | tuple):
            raise InvalidStepResultError(
                f"RPC {self.name} goes on with {type(result.next_steps).__name__}",
                "give next_steps as a list or tuple",
                handler=self.name,
                returned=type(result.next_steps).__name__,
            )
        for movement in result.next_steps:
            if not isinstance(movement, StepMovement):
                raise InvalidStepResultError(
                    f"RPC {self.name} goes on with {movement!r}",
                    "make next steps by StepMovement.of(step, input)",
                    handler=self.name,
                    returned=repr(movement),
                )
        return result


class BoundRPC(Generic[Input, Output]):
    """An RPC of one Flow: `flow.upsert_customer_profile`."""

    __slots__ = ("definition", "flow")

    def __init__(self, flow: Any, definition: RPC[Input, Output]) -> None:
        self.flow = flow
        self.definition = definition

    @property
    def name(self) -> str:
        """The RPC's name."""
        return self.definition.name

    @property
    def flow_type(self) -> str:
        """The name of the Flow's type."""
        return str(self.flow.get_flow_type())

    def __call__(self, context: "Context", *input: Any) -> Any:  # noqa: A002  # the SDK's name
        """Run the handler itself, as the runtime does; an async one gives its coroutine."""
        return self.definition.function(self.flow, context, *input)


_OPTIONS = [field.name for field in fields(RPCOptions)]


class _Declare(Protocol):
    """What `@rpc(…)` gives: a decorator of handlers with and without input."""

    @overload
    def __call__(self, function: "Callable[[Owner, Context, Input], Answer[Output]]") -> RPC[Input, Output]: ...
    @overload
    def __call__(self, function: "Callable[[Owner, Context], Answer[Output]]") -> RPC[None, Output]: ...


@overload
def rpc(function: "Callable[[Owner, Context, Input], Answer[Output]]", /) -> RPC[Input, Output]: ...
@overload
def rpc(function: "Callable[[Owner, Context], Answer[Output]]", /) -> RPC[None, Output]: ...
@overload
def rpc(
    *,
    name: str | None = None,
    timeout: timedelta | None = None,
    lock_attributes: Sequence[AttributeLock | Attribute[Any] | str] = (),
    is_transactional: bool = False,
    load_attribute_maps: Sequence[AttributeMap[Any] | str] = (),
    load_attribute_map_instances: Sequence[AttributeMapLoad] = (),
    load_channels: Sequence[Channel[Any] | ChannelMap[Any] | str] = (),
    lock_attribute_map_instances: Sequence[AttributeLock] = (),
    load_channel_map_instances: Sequence[ChannelMapLoad] = (),
    read_only: bool = False,
) -> _Declare: ...
def rpc(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Declare a method `(self, context[, input]) -> RPCResult` as an RPC: `@rpc` or `@rpc(…)`.

    Plain Attributes load by themselves; AttributeMaps and their instances, and the pending messages of Channels,
    only as declared here or by the invocation (spec: FL-05). All `lock_attributes` are taken at once or the call
    fails with RPCLockConflict (spec: FL-07). `is_transactional` makes a closing Flow wait for the call (spec: FL-14).
    `timeout` of None is the engine's own. A `read_only` one changes nothing, in the Flow or elsewhere: a server lets a
    token of scope read call it, and a client that lost an answer asks again (spec: K-02).
    """
    for name in options.keys() - _OPTIONS:
        remedy = did_you_mean(name, _OPTIONS) or f"it has {', '.join(_OPTIONS)}"
        raise InvalidCommand(f"@rpc has no option {name}", remedy)
    declared = RPCOptions(**options)
    return partial(RPC, options=declared) if function is None else RPC(function, declared)
