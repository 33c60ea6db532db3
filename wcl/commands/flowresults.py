"""What commands on Flows give.

Outputs, messages and attribute values are JSON values (`Any`); in process they may also be instances of the types that
the Flow declares.
"""

from typing import Any, Literal, TypeAlias

import msgspec

Status: TypeAlias = Literal["running", "completed", "failed", "canceled", "terminated"]
TimeoutPolicy: TypeAlias = Literal["fail", "cancel", "handler"]


class FlowStarted(msgspec.Struct, kw_only=True):
    """The result of a start; `started` is false where a repeated request or `ignore_already_started` met a run."""

    flow_id: str
    run_id: str
    started: bool


class RpcAnswer(msgspec.Struct, kw_only=True):
    """What an RPC gave, and the run it ran in."""

    output: Any
    run_id: str


class AttributeValues(msgspec.Struct):
    """Values by name; an instance of an AttributeMap is named `Map/instance`. Unset ones are left out."""

    attributes: dict[str, Any]


class Accepted(msgspec.Struct, kw_only=True):
    """The result of a write to a Flow: the journal position it has."""

    seq: int
    run_id: str


class Published(Accepted, kw_only=True):
    """The result of a publish: the ids of the messages, in order."""

    message_ids: list[str]


class Message(msgspec.Struct):
    """A pending message of a Channel."""

    id: str
    value: Any
    published_at: str


class Messages(msgspec.Struct):
    """The pending messages of a Channel, the oldest first."""

    messages: list[Message]


class FlowResult(msgspec.Struct, kw_only=True):
    """How a run ended: `output` of a completed one, `error` of one that failed or was stopped."""

    flow_id: str
    run_id: str
    status: Status
    output: Any = None
    error: str | None = None


class AttributeReached(msgspec.Struct, kw_only=True):
    """The attribute has the awaited value."""

    name: str
    value: Any


class StepResult(msgspec.Struct, kw_only=True):
    """How a step execution ended."""

    step_execution_id: str
    status: Literal["completed", "failed"]
    error: str | None = None


class FlowSummary(msgspec.Struct, kw_only=True):
    """One run in a search. Times are ISO 8601 in UTC; `closing` marks a run whose close waits."""

    flow_id: str
    run_id: str
    type: str
    status: Status
    closing: bool
    started_at: str
    closed_at: str | None


class FlowDescription(FlowSummary, kw_only=True):
    """All about one run."""

    attribute_stores: list[str]
    timeout_at: str | None
    timeout_policy: TimeoutPolicy
    input: Any
    output: Any
    error: str | None
    steps: int
    pending_steps: int
    history_events: int
    attributes: int
    previous_run_id: str | None


class FlowPage(msgspec.Struct):
    """A part of a search; the last has no `next_page_token`."""

    flows: list[FlowSummary]
    next_page_token: str | None


class StepState(msgspec.Struct, kw_only=True):
    """A step execution that is not over: waiting for its conditions, or ready to execute at `due_at`.

    `running_since` is when the handler began that some process runs now.
    """

    step_execution_id: str
    type: str
    status: Literal["waiting", "ready"]
    attempt: int
    due_at: str | None
    running_since: str | None
    last_error: str | None


class FlowState(msgspec.Struct, kw_only=True):
    """What a run holds now: steps that are not over, and pending messages by Channel."""

    flow_id: str
    run_id: str
    status: Status
    closing: bool
    steps: list[StepState]
    channels: dict[str, int]


class HistoryEvent(msgspec.Struct, kw_only=True):
    """One commit of a run. `number` counts from 1; `attributes` are the names it wrote."""

    number: int
    kind: str
    at: str
    seq: int
    attributes: list[str]
    detail: dict[str, Any]


class HistoryPage(msgspec.Struct):
    """Events in order; `next` is the number to go on after, absent where no more are there."""

    events: list[HistoryEvent]
    next: int | None


class FlowTypeSummary(msgspec.Struct):
    """A Flow definition that is loaded."""

    type: str
    steps: list[str]
    rpcs: list[str]
    attributes: list[str]
