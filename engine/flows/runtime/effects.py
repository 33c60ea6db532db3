"""What a handler did, as the fields of the record that commits it."""

from collections.abc import Iterable
from typing import Any

import msgspec

from dex.engine.flows import codec
from dex.engine.flows.decision import (
    DeadEnd,
    ForceComplete,
    ForceCompleteIfChannelsEmpty,
    ForceFail,
    GoTo,
    GracefulComplete,
    StepDecision,
    StepMovement,
)
from dex.engine.flows.flowtype import FlowType
from dex.engine.flows.records import Close, NewStep, Publish, Write
from dex.engine.flows.schema import PersistenceSchema
from dex.engine.flows.state import channels
from dex.engine.flows.workspace import Workspace
from dex.wcl.edge import to_edge
from dex.wcl.shown import text_of


def of_workspace(workspace: Workspace) -> dict[str, Any]:
    """Give the writes, publishes, deletes and events of a call, as fields of a RunCommitted.

    Raises:
        ChannelMessageNotFoundError: a message to delete has an id that no message can have.
    """
    events = [[name, to_edge(msgspec.msgpack.decode(data))] for name, data in workspace.events]
    return {
        "writes": [write_of(workspace.schema, key, data) for key, data in workspace.writes.items()],
        "publishes": [Publish(channel, data) for channel, data in workspace.publishes],
        "deletes": [(key, channels.parse_id(key, message_id)) for key, message_id in workspace.deleted_messages],
        "detail": {"events": events} if events else {},
    }


def write_of(schema: PersistenceSchema, key: str, data: bytes | None) -> Write:
    """Give the record of a write, which says whether the attribute is synced."""
    return Write(key, data, key.partition("/")[0] in schema.synced)


def next_steps(flow_type: FlowType, movements: Iterable[StepMovement]) -> list[NewStep]:
    """Give the steps that movements start, their inputs in stored form.

    Raises:
        FlowDefinitionError: the Flow has no such Step.
        ValueMappingError: an input is not of its Step's type.
    """
    return [
        NewStep(movement.step_type, flow_type.step(movement.step_type).encode_input(movement.input))
        for movement in movements
    ]


def of_decision(flow_type: FlowType, decision: StepDecision) -> tuple[list[NewStep], Close | None]:
    """Give the steps that a decision starts, and the close that it asks for (spec: FL-08).

    Raises:
        FlowDefinitionError, ValueMappingError: as `next_steps`.
    """
    match decision:
        case GoTo():
            return next_steps(flow_type, decision.movements), None
        case GracefulComplete():
            return [], Close("completed", _output(flow_type, decision.output), graceful=True)
        case ForceComplete():
            return [], Close("completed", _output(flow_type, decision.output))
        case ForceFail():
            return [], Close("failed", error=text_of(decision.reason) or "the Flow decided to fail")
        case ForceCompleteIfChannelsEmpty():
            steps, close = of_decision(flow_type, decision.fallback)
            output = _output(flow_type, decision.output)
            return [], Close("completed", output, if_empty=True, fallback=steps, otherwise=close)
        case DeadEnd():
            return [], None
        case _:
            raise AssertionError(f"{decision!r} is no decision")


def _output(flow_type: FlowType, value: Any) -> bytes:
    return codec.encode_as(value, Any, f"output of Flow {flow_type.name}")
