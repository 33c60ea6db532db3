"""Commands on Flows; their results are in `flowresults`.

Inputs, outputs, messages and attribute values are JSON values (`Any`), read by the types that the Flow declares.
In process they may also be instances of those types.
"""

from typing import Any, Literal, TypeAlias

import msgspec

from dex.wcl.commands.base import Command, check_count, check_limit, check_position, check_wait_ms, snake_case
from dex.wcl.commands.flowresults import (
    Accepted,
    AttributeReached,
    AttributeValues,
    FlowDescription,
    FlowPage,
    FlowResult,
    FlowStarted,
    FlowState,
    FlowTypeSummary,
    HistoryPage,
    Messages,
    Published,
    RpcAnswer,
    Status,
    StepResult,
    TimeoutPolicy,
)
from dex.wcl.edge import to_edge
from dex.wcl.errors import InvalidCommand
from dex.wcl.names import check_text

MAX_FLOW_ID_BYTES = 512
MAX_FLOW_PAGE = 1000
MAX_DURATION_MS = 100 * 366 * 24 * 3_600_000

IdReuse: TypeAlias = Literal[
    "default", "allow_if_previous_failed", "allow_if_not_running", "allow_terminate_if_running", "disallow"
]
StopKind: TypeAlias = Literal["cancel", "fail", "terminate"]


def check_flow_id(flow_id: str) -> None:
    """Refuse a Flow ID that is blank, too long or has a control character.

    Raises:
        InvalidCommand: with fact `flow_id`.
    """
    if not flow_id.strip():
        raise InvalidCommand("a Flow ID cannot be blank", "choose an id such as order-c1-o7", flow_id=flow_id)
    check_text(flow_id, "Flow ID")
    if len(flow_id.encode()) > MAX_FLOW_ID_BYTES:
        raise InvalidCommand(
            f"the Flow ID has {len(flow_id.encode())} bytes, and {MAX_FLOW_ID_BYTES} is the limit",
            "choose a shorter one",
        )


class Encoded(msgspec.Struct, frozen=True):
    """A value that the SDK has already put into its stored form, by the type that the Flow declares."""

    data: bytes

    def to_json(self) -> Any:
        """Give the value as JSON at the edge: an engine elsewhere reads it by the type that it knows."""
        return to_edge(msgspec.msgpack.decode(self.data))


class RetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Backoff of a run's steps that have none of their own; durations in ms, 0 attempts or duration is no limit."""

    initial_interval_ms: int = 1000
    backoff_coefficient: float = 2.0
    maximum_interval_ms: int = 100_000
    maximum_attempts: int = 0
    total_duration_ms: int = 0


class StartFlow(Command[FlowStarted], frozen=True):
    """Start a run (spec: FL-01, FL-02). Durations are milliseconds; 0 is none."""

    type: str
    flow_id: str
    input: Any = None
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)
    attribute_stores: list[str] = msgspec.field(default_factory=list)
    timeout_ms: int = 0
    timeout_policy: TimeoutPolicy = "fail"
    start_delay_ms: int = 0
    id_reuse: IdReuse = "default"
    ignore_already_started: bool = False
    request_id: str | None = None
    retry_policy: RetrySettings | None = None

    def __post_init__(self) -> None:
        check_flow_id(self.flow_id)
        if self.timeout_ms < 0 or self.start_delay_ms < 0:
            raise InvalidCommand("a duration cannot be negative", "use 0 for none")
        if max(self.timeout_ms, self.start_delay_ms) > MAX_DURATION_MS:
            raise InvalidCommand("a duration is longer than 100 years", "use 0 for no timeout")


class InvokeRpc(Command[RpcAnswer], frozen=True):
    """Call an RPC of a running Flow (spec: FL-05 … FL-07).

    `lock`, `load` and `load_channels` name attributes and map instances as `Map/instance`, escaped; they are united
    with what the RPC declares. `read_only` asks for an RPC that is declared so, and takes no other.
    """

    flow_id: str
    rpc: str
    input: Any = None
    lock: list[str] = msgspec.field(default_factory=list)
    load: list[str] = msgspec.field(default_factory=list)
    load_channels: list[str] = msgspec.field(default_factory=list)
    read_only: bool = False

    def __post_init__(self) -> None:
        check_flow_id(self.flow_id)


class GetAttributes(Command[AttributeValues], frozen=True):
    """Read attributes by name, or all that are set (spec: FL-10)."""

    flow_id: str
    names: list[str] = msgspec.field(default_factory=list)
    run_id: str | None = None


class SetAttributes(Command[Accepted], frozen=True):
    """Write attributes in one commit; null deletes (spec: FL-03, FL-10, FL-16)."""

    flow_id: str
    attributes: dict[str, Any]
    run_id: str | None = None

    def __post_init__(self) -> None:
        if not self.attributes:
            raise InvalidCommand("no attribute to set", "name at least one")


class PublishMessages(Command[Published], frozen=True):
    """Publish messages to a Channel in one commit (spec: FL-09)."""

    flow_id: str
    channel: str
    messages: list[Any]

    def __post_init__(self) -> None:
        check_count(len(self.messages), "a publish", "message")


class ListMessages(Command[Messages], frozen=True):
    """List the pending messages of a Channel (spec: FL-09)."""

    flow_id: str
    channel: str
    limit: int = 100

    def __post_init__(self) -> None:
        check_limit(self.limit, MAX_FLOW_PAGE)


class DeleteMessages(Command[Accepted], frozen=True):
    """Delete pending messages of a Channel, all of them or none (spec: FL-09)."""

    flow_id: str
    channel: str
    message_ids: list[str]


class WaitForFlow(Command[FlowResult], frozen=True):
    """Wait until a run is closed (spec: FL-10)."""

    flow_id: str
    run_id: str | None = None
    wait_ms: int = 60_000

    def __post_init__(self) -> None:
        check_wait_ms(self.wait_ms)


class WaitForStep(Command[StepResult], frozen=True):
    """Wait until a step, by type or execution id, is over (spec: FL-10)."""

    flow_id: str
    step: str
    wait_ms: int = 60_000

    def __post_init__(self) -> None:
        check_wait_ms(self.wait_ms)


class WaitForAttribute(Command[AttributeReached], frozen=True):
    """Wait until an attribute has a value (spec: FL-10)."""

    flow_id: str
    name: str
    value: Any
    wait_ms: int = 60_000

    def __post_init__(self) -> None:
        check_wait_ms(self.wait_ms)


class DescribeFlow(Command[FlowDescription], frozen=True):
    """Tell all about a run (spec: FL-12)."""

    flow_id: str
    run_id: str | None = None


class GetFlowState(Command[FlowState], frozen=True):
    """Tell what a run holds now (spec: FL-12)."""

    flow_id: str
    run_id: str | None = None


class PageHistory(Command[HistoryPage], frozen=True):
    """Read events after a number; an empty page may wait for one (spec: FL-12)."""

    flow_id: str
    run_id: str | None = None
    after: int = 0
    limit: int = 100
    wait_ms: int = 0

    def __post_init__(self) -> None:
        check_position(self.after)
        check_limit(self.limit, MAX_FLOW_PAGE)
        check_wait_ms(self.wait_ms)


class SearchFlows(Command[FlowPage], frozen=True):
    """Find runs, the newest first, by type, status and attribute values (spec: FL-12)."""

    type: str | None = None
    status: Status | None = None
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)
    limit: int = 100
    page_token: str | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit, MAX_FLOW_PAGE)


class StopFlow(Command[Accepted], frozen=True):
    """Close a run at once (spec: FL-11, FL-16)."""

    flow_id: str
    run_id: str | None = None
    kind: StopKind = "cancel"
    reason: str = ""


class _Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=snake_case):
    """Where time travel goes, told by `kind`."""


class Beginning(_Target, frozen=True):
    """The start of the run."""


class Event(_Target, frozen=True):
    """Right after a history event."""

    number: int


class Time(_Target, frozen=True):
    """The last event at or before a time in ms since the epoch."""

    at_ms: int


class StepType(_Target, frozen=True):
    """Right before the first execution of a step type."""

    type: str


class StepExecution(_Target, frozen=True):
    """Right before a step execution, by its id."""

    id: str


Target: TypeAlias = Beginning | Event | Time | StepType | StepExecution


class TimeTravel(Command[FlowStarted], frozen=True):
    """Close a run and go on from one of its past states in a new one (spec: FL-13)."""

    flow_id: str
    run_id: str | None
    to: Target
    reason: str


class PurgeFlow(Command[Accepted], frozen=True):
    """Delete a closed run with all it holds (spec: FL-16)."""

    flow_id: str
    run_id: str


class SkipTimer(Command[Accepted], frozen=True):
    """Fire a timer of a waiting step now, by its condition id or position."""

    flow_id: str
    step_execution_id: str
    condition_id: str | None = None
    index: int | None = None


class UpdateFlowConfig(Command[Accepted], frozen=True):
    """Change the stores that a run's attributes are synced to (spec: Y-04)."""

    flow_id: str
    attribute_stores: list[str]


class ShowFlowTypes(Command[list[FlowTypeSummary]], frozen=True):
    """List the Flow definitions that are loaded (spec: FL-17)."""


AnyFlowCommand: TypeAlias = (
    StartFlow
    | InvokeRpc
    | GetAttributes
    | SetAttributes
    | PublishMessages
    | ListMessages
    | DeleteMessages
    | WaitForFlow
    | WaitForStep
    | WaitForAttribute
    | DescribeFlow
    | GetFlowState
    | PageHistory
    | SearchFlows
    | StopFlow
    | TimeTravel
    | PurgeFlow
    | SkipTimer
    | UpdateFlowConfig
    | ShowFlowTypes
)
