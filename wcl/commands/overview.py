"""The command that looks at everything at once, and its result (spec: K-01)."""

import msgspec

from dex.wcl.commands.base import Command, check_limit
from dex.wcl.commands.feeds import FeedSummary
from dex.wcl.commands.stores import StoreSummary

MAX_LISTED = 1000
MOST_COUNTED = 1_000_000
"""Where counting ends: a count of as many means that there are as many or more."""

AGE_LIMITS_SECONDS = (1, 10, 60, 600, 3600)
"""The bounds of the ages that pending entries are counted by."""


class StoreOverview(StoreSummary, kw_only=True):
    """A StateStore: its rows, and how many positions of the journal it lags behind."""

    rows: int
    behind: int


class FeedOverview(FeedSummary, kw_only=True):
    """A Feed and its last position."""

    last_seq: int


class FlowCount(msgspec.Struct, kw_only=True):
    """How many runs of a type have a status."""

    type: str
    status: str
    runs: int


class SyncOverview(msgspec.Struct, kw_only=True):
    """What an Attribute Store has not been told of.

    `ages` counts entries by age: up to each of `AGE_LIMITS_SECONDS`, and above the last. `attempts` is how often the
    write that failed most often in a row did.
    """

    store: str
    pending: int
    oldest_age_seconds: float
    oldest_flow_id: str
    ages: list[int]
    attempts: int


class Overview(msgspec.Struct, kw_only=True):
    """All there is, at one moment (`at`, ISO 8601 in UTC) and position of the journal.

    The lists are in order of names and have up to as many stores, feeds and Flow types as were asked for; the totals
    tell how many stores and feeds there are. Counts end at `MOST_COUNTED`.
    """

    at: str
    position: int
    stores: list[StoreOverview]
    total_stores: int
    feeds: list[FeedOverview]
    total_feeds: int
    flows: list[FlowCount]
    sync: list[SyncOverview]


class ShowOverview(Command[Overview], frozen=True):
    """Look at all stores and feeds, at Flows by type and status, and at what is pending for Attribute Stores."""

    limit: int = 100

    def __post_init__(self) -> None:
        check_limit(self.limit, MAX_LISTED)
