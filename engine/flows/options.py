"""How Flows are started, stopped and rewound (spec: FL-01, FL-02, FL-11, FL-13)."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from dex.engine.flows.attribute import Attribute
from dex.engine.flows.checking import check_fields
from dex.engine.flows.retry import RetryPolicy
from dex.wcl.errors import InvalidCommand


class FlowStatus(StrEnum):
    """Where a run stands; all but RUNNING are final."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    TERMINATED = "terminated"


class IdReusePolicy(StrEnum):
    """When a Flow ID that has a run may get another one (spec: FL-02). DEFAULT is ALLOW_IF_NOT_RUNNING."""

    DEFAULT = "default"
    ALLOW_IF_PREVIOUS_FAILED = "allow_if_previous_failed"
    ALLOW_IF_NOT_RUNNING = "allow_if_not_running"
    ALLOW_TERMINATE_IF_RUNNING = "allow_terminate_if_running"
    DISALLOW = "disallow"


class FlowTimeoutPolicy(StrEnum):
    """What becomes of a Flow that runs out of time; HANDLER asks its `handle_timeout`."""

    FAIL = "fail"
    CANCEL = "cancel"
    HANDLER = "handler"


class StopType(StrEnum):
    """How a Flow is stopped (spec: FL-11)."""

    CANCEL = "cancel"
    TERMINATE = "terminate"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class FlowConfig:
    """Settings of one run: the stores that its synced Attributes are written to, by name."""

    attribute_store_names: tuple[str, ...] | list[str] = ()

    def __post_init__(self) -> None:
        check_fields(self, "(attribute_store_names=['orders'])")


@dataclass(frozen=True, slots=True)
class StartFlowOptions:
    """How a Flow is started.

    Without `timeout` it runs until it ends by itself. `retry_policy` is that of Steps which have none of their own.
    The same `request_id` starts one run only, and with `ignore_already_started` a repeated start gives that run.
    """

    timeout: timedelta | None = None
    timeout_policy: FlowTimeoutPolicy = FlowTimeoutPolicy.FAIL
    start_delay: timedelta | None = None
    id_reuse_policy: IdReusePolicy = IdReusePolicy.DEFAULT
    retry_policy: RetryPolicy | None = None
    config_override: FlowConfig | None = None
    ignore_already_started: bool = False
    request_id: str | None = None
    attributes: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, "(timeout=timedelta(hours=1), id_reuse_policy=IdReusePolicy.DISALLOW)")
        if self.timeout is not None and self.timeout <= timedelta(0):
            raise InvalidCommand(f"timeout is {self.timeout}", "pass a duration above zero, or None for no timeout")
        if self.start_delay is not None and self.start_delay < timedelta(0):
            raise InvalidCommand(f"start_delay is {self.start_delay}", "pass a duration of zero or more")

    def with_attribute(self, definition: Attribute[Any], value: Any) -> "StartFlowOptions":
        """Give the same options with a first value for an Attribute; None leaves it unset.

        Raises:
            ValueMappingError: the value is not of the declared type.
            InvalidCommand: `definition` is no Attribute.
        """
        if not isinstance(definition, Attribute):
            raise InvalidCommand(f"{definition!r} is no Attribute", "set instances of AttributeMaps in a Step or RPC")
        attributes = {name: data for name, data in self.attributes.items() if name != definition.name}
        data = definition.encode(value)
        return replace(self, attributes=attributes if data is None else {**attributes, definition.name: data})


@dataclass(frozen=True, slots=True)
class StopFlowOptions:
    """How a Flow is stopped; with `run_id` only if that is the open run."""

    stop_type: StopType = StopType.CANCEL
    reason: str = ""
    run_id: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, "(StopType.CANCEL, 'out of stock')")


class TimeTravelTo(StrEnum):
    """The kinds of points in a run's history to go back to (spec: FL-13)."""

    BEGINNING = "beginning"
    EVENT = "event"
    TIME = "time"
    STEP_TYPE = "step"
    STEP_EXECUTION = "step-execution"


@dataclass(frozen=True, slots=True)
class TimeTravelOptions:
    """Where a new run goes on from: made by one of the functions below.

    `target` is None for the beginning, an event's number, a time with a zone, a Step's type (its first execution),
    or a step execution id.
    """

    to: TimeTravelTo
    target: int | datetime | str | None = None
    reason: str = ""
    run_id: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, ".to_step_type('Ship')")
        if not isinstance(self.target, _TARGETS[self.to]) or self.target.__class__ is bool:
            raise InvalidCommand(
                f"time travel to {self.to} does not take {self.target!r}",
                f"pass {_TARGETS[self.to].__name__}",
            )
        if isinstance(self.target, datetime) and self.target.tzinfo is None:
            raise InvalidCommand("the time to go back to has no zone", "pass a datetime with tzinfo")

    @classmethod
    def to_beginning(cls, reason: str = "", run_id: str | None = None) -> "TimeTravelOptions":
        """Start over with the same input."""
        return cls(TimeTravelTo.BEGINNING, None, reason, run_id)

    @classmethod
    def to_event(cls, event: int, reason: str = "", run_id: str | None = None) -> "TimeTravelOptions":
        """Go on after a history event."""
        return cls(TimeTravelTo.EVENT, event, reason, run_id)

    @classmethod
    def to_time(cls, time: datetime, reason: str = "", run_id: str | None = None) -> "TimeTravelOptions":
        """Go on from the state of a moment."""
        return cls(TimeTravelTo.TIME, time, reason, run_id)

    @classmethod
    def to_step_type(cls, step_type: str, reason: str = "", run_id: str | None = None) -> "TimeTravelOptions":
        """Go on with the first execution of a Step's type."""
        return cls(TimeTravelTo.STEP_TYPE, step_type, reason, run_id)

    @classmethod
    def to_step_execution(
        cls, step_execution_id: str, reason: str = "", run_id: str | None = None
    ) -> "TimeTravelOptions":
        """Go on with one execution of a Step."""
        return cls(TimeTravelTo.STEP_EXECUTION, step_execution_id, reason, run_id)


_TARGETS: dict[TimeTravelTo, type] = {
    TimeTravelTo.BEGINNING: type(None),
    TimeTravelTo.EVENT: int,
    TimeTravelTo.TIME: datetime,
    TimeTravelTo.STEP_TYPE: str,
    TimeTravelTo.STEP_EXECUTION: str,
}
