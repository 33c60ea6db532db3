"""Commands on Feeds, and their results."""

from typing import Literal

import msgspec

from dex.wcl.commands.base import (
    Command,
    check_count,
    check_items,
    check_limit,
    check_mutation_id,
    check_position,
    check_wait_ms,
)
from dex.wcl.commands.stores import MAX_PAGE, Dropped
from dex.wcl.errors import InvalidCommand
from dex.wcl.names import check_is_text, check_name
from dex.wcl.values import Blob, check_key, check_payload

MAX_METADATA_BYTES = 16 * 1024


class FeedRecord(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One record as it is appended. A null payload deletes the key's row in stores over it (spec: F-02)."""

    key: Blob
    payload: Blob | None = None
    metadata: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_key(self.key)
        if self.payload is not None:
            check_payload(self.payload)
        try:
            size = sum(len(name.encode()) + len(text.encode()) for name, text in self.metadata.items())
        except (AttributeError, TypeError) as error:
            raise InvalidCommand("the metadata is no dict of texts by name", 'pass {"source": "web"}') from error
        except UnicodeEncodeError as error:
            raise InvalidCommand("the metadata has a lone surrogate", "metadata is text") from error
        if size > MAX_METADATA_BYTES:
            raise InvalidCommand(
                f"the metadata has {size} bytes, and {MAX_METADATA_BYTES} is the limit",
                "move it into the payload",
            )


class CommittedRecord(msgspec.Struct, gc=False):
    """One record as it is read, with its position."""

    seq: int
    key: Blob
    metadata: dict[str, str]
    payload: Blob | None


class FeedSummary(msgspec.Struct, kw_only=True):
    """One line of SHOW FEEDS; `stores` are the stores that materialise it."""

    name: str
    stage: Literal["active", "dropped"]
    stores: list[str]


class FeedDescription(FeedSummary, kw_only=True):
    """The answer to DESCRIBE FEED. `last_seq` is 0 while the feed is empty; times are ISO 8601 in UTC."""

    records: int
    bytes: int
    last_seq: int
    created_at: str
    updated_at: str


class FeedDefined(msgspec.Struct, kw_only=True):
    """The result of DEFINE FEED."""

    status: Literal["created", "unchanged"]
    seq: int
    feed: FeedSummary


class RecordsAppended(msgspec.Struct, kw_only=True):
    """The result of an append: the positions of the first and the last record."""

    first_seq: int
    seq: int
    replayed: bool


class FeedPage(msgspec.Struct):
    """Records in feed order; `next` is the position to go on after, absent on the last page."""

    records: list[CommittedRecord]
    next: int | None


class DefineFeed(Command[FeedDefined], frozen=True):
    """Declare a feed (spec: W-11)."""

    name: str
    if_not_exists: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "feed name")


class DropFeed(Command[Dropped], frozen=True):
    """Tombstone a feed; refused while a store materialises it."""

    name: str
    if_exists: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "feed name")


class DescribeFeed(Command[FeedDescription], frozen=True):
    """Tell all about one feed, a dropped one included."""

    name: str

    def __post_init__(self) -> None:
        check_name(self.name, "feed name")


class ShowFeeds(Command[list[FeedSummary]], frozen=True):
    """List the feeds that are not dropped, by name."""


class AppendRecords(Command[RecordsAppended], frozen=True):
    """Append records to a feed, all of them in one commit (spec: F-01)."""

    feed: str
    records: list[FeedRecord]
    mutation_id: str | None = None

    def __post_init__(self) -> None:
        check_is_text(self.feed, "a feed name")
        check_items(self.records, FeedRecord, "the records of an append")
        check_count(len(self.records), "an append", "record")
        check_mutation_id(self.mutation_id)


class PageRecords(Command[FeedPage], frozen=True):
    """Read up to `limit` records after the position `after`; an empty page waits up to `wait_ms` for one."""

    feed: str
    after: int = 0
    limit: int = 256
    wait_ms: int = 0

    def __post_init__(self) -> None:
        check_is_text(self.feed, "a feed name")
        check_position(self.after)
        check_limit(self.limit, MAX_PAGE)
        check_wait_ms(self.wait_ms)
