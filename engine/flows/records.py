"""What the journal says of Flows: effects, never code. The runtime has run the handler; these tell what came of it."""

from typing import Any, Literal

import msgspec

from dex.engine.flows.retry import RetryPolicy
from dex.wcl.commands.base import snake_case
from dex.wcl.commands.flowresults import TimeoutPolicy
from dex.wcl.commands.flows import IdReuse, StopKind

MAX_PER_COMMIT = 1 << 20
"""How many values, and how many messages, one record may have: their ids are its position times this, and more."""

CommitKind = Literal["rpc", "set_attributes", "published", "messages_deleted", "step", "timeout"]
StepOutcome = Literal["completed", "failed", "retry", "waiting"]
Ending = Literal["completed", "failed", "canceled"]


class Write(msgspec.Struct, array_like=True, frozen=True):
    """A new value of an attribute, in its stored form; None deletes. `synced` ones go to the run's stores as well."""

    key: str
    data: bytes | None
    synced: bool = False


class NewStep(msgspec.Struct, array_like=True, frozen=True):
    """A step to be executed, with its input in stored form; `recovery_error` is why it follows a failed one."""

    type: str
    input: bytes
    recovery_error: str | None = None


class Publish(msgspec.Struct, array_like=True, frozen=True):
    """A message for a Channel, in stored form."""

    channel: str
    data: bytes


class StepEnd(msgspec.Struct, array_like=True, frozen=True):
    """What became of one attempt of a step execution.

    `attempt` is the one that ran, and guards against a second worker; `began_at` is when, in ms since the epoch. A
    `waiting` step has its conditions in `wait`; one that is to be tried again is due after `delay_ms`.
    """

    type: str
    number: int
    attempt: int
    outcome: StepOutcome
    began_at: int
    error: str | None = None
    delay_ms: int = 0
    wait: bytes | None = None
    local: bytes | None = None


class Close(msgspec.Struct, array_like=True, frozen=True):
    """A natural close. A `graceful` one takes effect once no other step is left; `if_empty` only while no Channel has a
    message, else the `fallback` steps are started or the close `otherwise` is judged. One that is `held` waits for
    calls that are under way, which only their process knows."""

    status: Ending
    output: bytes | None = None
    error: str | None = None
    graceful: bool = False
    if_empty: bool = False
    fallback: list[NewStep] = msgspec.field(default_factory=list)
    otherwise: "Close | None" = None
    held: bool = False


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="command", tag=snake_case):
    """A mutation of a Flow as it is journaled."""


class RunStarted(_Record, frozen=True):
    """A start, with all that decides whether it makes a run (spec: FL-01, FL-02)."""

    flow_id: str
    run_id: str
    type: str
    input: bytes
    writes: list[Write] = msgspec.field(default_factory=list)
    steps: list[NewStep] = msgspec.field(default_factory=list)
    attribute_stores: list[str] = msgspec.field(default_factory=list)
    timeout_ms: int = 0
    timeout_policy: TimeoutPolicy = "fail"
    start_delay_ms: int = 0
    id_reuse: IdReuse = "default"
    ignore_already_started: bool = False
    request_id: str | None = None
    retry_policy: RetryPolicy | None = None


class RunCommitted(_Record, frozen=True):
    """All effects of one RPC, Step or call (spec: FL-06).

    `guard` names the attributes that were locked, with the version that was read: where another process has written
    one since, nothing is done (spec: FL-07). `deletes` are pending messages, by Channel key and id. `held` says that a
    close has to wait for RPCs that are under way.
    """

    run_id: str
    kind: CommitKind
    guard: list[tuple[str, int]] = msgspec.field(default_factory=list)
    writes: list[Write] = msgspec.field(default_factory=list)
    publishes: list[Publish] = msgspec.field(default_factory=list)
    deletes: list[tuple[str, int]] = msgspec.field(default_factory=list)
    step: StepEnd | None = None
    steps: list[NewStep] = msgspec.field(default_factory=list)
    close: Close | None = None
    held: bool = False
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


class TimersFired(_Record, frozen=True):
    """Timers of a waiting step, by their numbers among its timers."""

    run_id: str
    type: str
    number: int
    timers: list[int]


class CloseEnded(_Record, frozen=True):
    """A close that waited need wait no longer (spec: FL-14)."""

    run_id: str


class RunStopped(_Record, frozen=True):
    """A stop by a caller (spec: FL-11, FL-16)."""

    run_id: str
    kind: StopKind
    reason: str


class RunTraveled(_Record, frozen=True):
    """A new run that goes on after an event of an old one (spec: FL-13).

    `synced` names the attributes and maps whose rows are to be rewritten (spec: Y-21).
    """

    run_id: str
    new_run_id: str
    event: int
    reason: str
    synced: list[str] = msgspec.field(default_factory=list)


class RunPurged(_Record, frozen=True):
    """A closed run, deleted with all it holds (spec: FL-16)."""

    run_id: str


class AttributesErased(_Record, frozen=True):
    """Hard-delete attributes of a closed run, deleted for good; some are `synced` (spec: FL-16)."""

    run_id: str
    keys: list[str]
    synced: list[str] = msgspec.field(default_factory=list)


class AttributesSynced(_Record, frozen=True):
    """Attributes that a store has been told of, or that were given up with the reason `dropped` (spec: Y-19).

    Each is the run's number in this file, the key, and the position of the mark that the writer read. `rows` is how
    many rows were written: an attribute that does not fit its column is told of and leaves none.
    """

    store: str
    entries: list[tuple[int, str, int]]
    dropped: str | None = None
    rows: int = 0


class ConfigUpdated(_Record, frozen=True):
    """Other stores to sync a run's attributes to."""

    run_id: str
    attribute_stores: list[str]


FlowRecord = (
    RunStarted
    | RunCommitted
    | TimersFired
    | CloseEnded
    | RunStopped
    | RunTraveled
    | RunPurged
    | AttributesErased
    | AttributesSynced
    | ConfigUpdated
)
