"""A Flow with synced Attributes of every kind, and one that is not synced."""

from typing import Any

from dex import (
    Attribute,
    AttributeMap,
    Context,
    Flow,
    FlowConfig,
    PersistenceSchema,
    StartFlowOptions,
    Step,
    StepList,
    force_complete,
)

TOTAL = Attribute("Total", int, sync_to_attribute_store=True)
NOTE = Attribute("Note", str, sync_to_attribute_store=True)
SECRET = Attribute("Secret", str, sync_to_attribute_store=True, hard_delete_on_null=True)
ITEMS = AttributeMap("Items", Any, sync_to_attribute_store=True)
HIDDEN = Attribute("Hidden", int)


class End(Step[None]):
    def execute(self, context: Context, input: None) -> Any:
        TOTAL.set(context, 99)
        return force_complete("done")


class Order(Flow[None]):
    """Without steps, unless it is told to end at once."""

    def __init__(self, *, ends: bool = False) -> None:
        self.ends = ends

    def get_flow_type(self) -> str:
        return "Ending" if self.ends else "Order"

    def get_steps(self) -> StepList:
        return StepList([End()], End()) if self.ends else StepList([], None)

    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(TOTAL, NOTE, SECRET, ITEMS, HIDDEN)


def synced_to(*stores: str, **options: Any) -> StartFlowOptions:
    """Give the options of a start whose Attributes go to these stores."""
    return StartFlowOptions(config_override=FlowConfig(attribute_store_names=list(stores)), **options)
