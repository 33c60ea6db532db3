"""Steps: the parts of a Flow that run by themselves, after what they wait for (spec: FL-08)."""

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dex.engine.flows.attribute import Attribute, AttributeLock, AttributeMap, AttributeMapLoad
from dex.engine.flows.channel import Channel
from dex.engine.flows.checking import check_fields
from dex.engine.flows.decision import StepDecision, step_type_of
from dex.engine.flows.retry import RetryPolicy
from dex.engine.flows.wait import Wait
from dex.wcl.errors import FlowDefinitionError

if TYPE_CHECKING:
    from dex.engine.flows.context import Context

Input = TypeVar("Input")


class WaitForFailure(StrEnum):
    """What follows when `wait_for` has failed for good."""

    FAIL_FLOW = "fail_flow"
    PROCEED = "proceed"


@dataclass(frozen=True, slots=True)
class StepOptions:
    """How a Step's two methods are run. A timeout of None is the engine's own.

    Locks and loads are named as in `rpc`. Once `execute` has failed for good, the Flow fails, or goes on with the
    Step that `on_execute_failure_proceed_to` names.
    """

    wait_for_method_timeout: timedelta | None = None
    execute_method_timeout: timedelta | None = None
    wait_for_retry: RetryPolicy | None = None
    execute_retry: RetryPolicy | None = None
    wait_for_failure: WaitForFailure = WaitForFailure.FAIL_FLOW
    wait_for_lock_attributes: tuple[AttributeLock | Attribute[Any] | str, ...] = ()
    wait_for_load_attribute_maps: tuple[AttributeMap[Any] | str, ...] = ()
    wait_for_load_attribute_map_instances: tuple[AttributeMapLoad, ...] = ()
    wait_for_load_channels: tuple[Channel[Any] | str, ...] = ()
    execute_lock_attributes: tuple[AttributeLock | Attribute[Any] | str, ...] = ()
    execute_load_attribute_maps: tuple[AttributeMap[Any] | str, ...] = ()
    execute_load_attribute_map_instances: tuple[AttributeMapLoad, ...] = ()
    execute_load_channels: tuple[Channel[Any] | str, ...] = ()
    execute_failure_step: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, "(execute_method_timeout=timedelta(seconds=5), execute_lock_attributes=(STATUS,))")

    def on_execute_failure_proceed_to(self, step: "type[Step[Any]] | Step[Any] | str") -> "StepOptions":
        """Give the same options with the Step to go on with, which gets the failed one's input."""
        return replace(self, execute_failure_step=step_type_of(step))


class Step(Generic[Input]):
    """One part of a Flow: `Step[Order]` takes an Order.

    `execute` runs once what `wait_for` waits for is met; a Step without `wait_for` executes at once. Each method's
    effects commit together, and a method that raises is tried again by its RetryPolicy. Either may be async.
    """

    def wait_for(self, context: "Context", input: Input, /) -> Wait | Awaitable[Wait]:  # noqa: A002  # the SDK's name
        """Say what to wait for; override it to wait at all."""
        raise NotImplementedError

    def execute(
        self,
        context: "Context",
        input: Input,  # noqa: A002  # the SDK's name
        /,
    ) -> StepDecision | Awaitable[StepDecision]:
        """Do the work and decide what comes next."""
        raise NotImplementedError

    def get_step_type(self) -> str:
        """Give the Step's type, by default the name of its class."""
        return type(self).__name__

    def get_step_options(self) -> StepOptions:
        """Give the Step's options."""
        return StepOptions()


@dataclass(frozen=True, slots=True)
class StepList:
    """The Steps of a Flow, and the one that the Flow starts with, if any."""

    steps: tuple[Step[Any], ...] = ()
    start: Step[Any] | None = None

    @classmethod
    def empty(cls) -> "StepList":
        """Give the list of a Flow that has RPCs only."""
        return cls()

    @classmethod
    def start_step(cls, step: Step[Any] | type[Step[Any]]) -> "StepList":
        """Begin a list with the Step that the Flow starts with."""
        started = _instance(step)
        return cls((started,), started)

    @classmethod
    def without_start_step(cls, *steps: Step[Any] | type[Step[Any]]) -> "StepList":
        """Begin a list of Steps that only RPCs and other Steps start."""
        return cls(tuple(_instance(step) for step in steps))

    def other_steps(self, *steps: Step[Any] | type[Step[Any]]) -> "StepList":
        """Give the same list with more Steps."""
        return replace(self, steps=(*self.steps, *(_instance(step) for step in steps)))


def _instance(step: Step[Any] | type[Step[Any]]) -> Step[Any]:
    """Give a Step as an instance; what is none is refused with the Flow's name, when the Flow is compiled."""
    if not isinstance(step, type):
        return step
    try:
        return step()
    except TypeError as error:
        raise FlowDefinitionError(
            f"Step {step.__name__} cannot be made without arguments: {error}", "list an instance of it"
        ) from error
