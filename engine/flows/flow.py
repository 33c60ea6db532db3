"""Flow: the class that people write."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Generic, TypeVar

from dex.engine.flows.decision import StepDecision
from dex.engine.flows.schema import PersistenceSchema
from dex.engine.flows.step import StepList

if TYPE_CHECKING:
    from dex.engine.flows.context import Context

StartInput = TypeVar("StartInput")


class Flow(Generic[StartInput]):
    """A durable process: `Flow[Order]` starts with an Order, the input of its start Step.

    A subclass declares its Attributes and Channels, its Steps and its RPCs; one instance serves all runs, so state
    belongs into Attributes and never on `self`.
    """

    def get_flow_type(self) -> str:
        """Give the name of the type, by default that of the class."""
        return type(self).__name__

    def get_steps(self) -> StepList:
        """Give the Steps; a Flow without any has RPCs only and is open until it is stopped (spec: FL-01)."""
        return StepList.empty()

    def get_persistence_schema(self) -> PersistenceSchema:
        """Give all Attributes and Channels that the Flow uses (spec: FL-03)."""
        return PersistenceSchema.of()

    def handle_timeout(self, context: "Context", /) -> StepDecision | Awaitable[StepDecision]:
        """Decide what becomes of a Flow that has run out of time; override it to use FlowTimeoutPolicy.HANDLER."""
        raise NotImplementedError
