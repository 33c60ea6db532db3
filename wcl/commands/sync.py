"""Commands that look at Attribute Store sync, and their results (spec: Y-25)."""

from typing import TypeAlias

import msgspec

from dex.wcl.commands.base import Command, check_limit, check_position

MAX_ENTRIES = 10_000


class BacklogEntry(msgspec.Struct, kw_only=True):
    """An attribute that a store has not been told of. Times are ISO 8601 in UTC, ages are seconds."""

    store: str
    flow_id: str
    run_id: str
    key: str
    age_seconds: float
    attempts: int
    next_attempt: str | None
    last_error: str | None


class Backlog(msgspec.Struct, kw_only=True):
    """What is pending: the oldest entries, how many there are in all, and how old the oldest is."""

    entries: list[BacklogEntry]
    total: int
    oldest_age_seconds: float


class DroppedEntry(msgspec.Struct, kw_only=True):
    """An attribute that a store was never told of, when it was given up and why."""

    store: str
    flow_id: str
    run_id: str
    key: str
    dropped_at: str
    age_seconds: float
    reason: str


class SyncTotals(msgspec.Struct, kw_only=True):
    """How much is pending, how old the oldest is, and what has become of the rest.

    `dropped` are the entries that were ever given up. `position` is the journal's, and `rows` are those that were
    written between the position asked about and this one: a run's plain attributes are one row of each store, and
    every instance of an AttributeMap is one.
    """

    position: int
    pending: int
    oldest_age_seconds: float
    dropped: int
    rows: int


class SyncBacklog(Command[Backlog], frozen=True):
    """Show what is pending, of all stores or one, of all Flows or one, the oldest first."""

    store: str | None = None
    flow_id: str | None = None
    limit: int = 100

    def __post_init__(self) -> None:
        check_limit(self.limit, MAX_ENTRIES)


class SyncDrops(Command[list[DroppedEntry]], frozen=True):
    """Show what was given up, the latest first."""

    store: str | None = None
    limit: int = 100

    def __post_init__(self) -> None:
        check_limit(self.limit, MAX_ENTRIES)


class ShowSyncTotals(Command[SyncTotals], frozen=True):
    """Count what is pending, given up, and written after a position of the journal (spec: Y-24)."""

    after: int | None = None

    def __post_init__(self) -> None:
        if self.after is not None:
            check_position(self.after)


AnySyncCommand: TypeAlias = SyncBacklog | SyncDrops | ShowSyncTotals
