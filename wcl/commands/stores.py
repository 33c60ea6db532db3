"""Commands on StateStores, and their results."""

from typing import Literal, TypeAlias

import msgspec

from dex.wcl.commands.base import (
    Command,
    Freshness,
    check_items,
    check_limit,
    check_mutation_id,
    check_wait_ms,
    snake_case,
)
from dex.wcl.errors import InvalidCommand
from dex.wcl.names import check_is_text, check_key_name, check_name, check_text
from dex.wcl.values import Blob, Value, check_key, check_named, check_payload, check_value

MAX_NAMED_KEYS = 10
MAX_PAGE = 10_000
DEFAULT_WAIT_MS = 5_000


class _Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=snake_case):
    """A choice told by `kind`."""


class RecordKey(_Kind, frozen=True):
    """The extractor that reads a feed record's key (spec: F-03)."""


class Metadata(_Kind, frozen=True):
    """The extractor that reads a Metadata entry of a feed record (spec: F-03)."""

    name: str

    def __post_init__(self) -> None:
        check_is_text(self.name, "a METADATA name")
        if not self.name:
            raise InvalidCommand("a METADATA extractor needs the name of an entry", "write METADATA 'name'")
        check_text(self.name, "METADATA name")


class Json(_Kind, frozen=True):
    """The extractor that reads a dotted path of a feed record's JSON payload (spec: F-03)."""

    path: str

    def __post_init__(self) -> None:
        check_is_text(self.path, "a JSON path")
        if not all(self.path.split(".")):
            raise InvalidCommand(f"{self.path!r} is not a dotted JSON path", "write JSON 'a.b'", path=self.path)
        check_text(self.path, "JSON path")


Extractor: TypeAlias = RecordKey | Metadata | Json


class Manual(_Kind, frozen=True):
    """The source of a store whose rows are put by callers."""


class FromFeed(_Kind, frozen=True, tag="feed"):
    """The source of a store that materialises a Feed."""

    feed: str

    def __post_init__(self) -> None:
        check_name(self.feed, "feed name")


Source: TypeAlias = Manual | FromFeed


class NamedKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A declared look-up of a store: unique (one row per value) or grouping (value to many rows)."""

    name: str
    unique: bool = False
    extractor: Extractor | None = None

    def __post_init__(self) -> None:
        check_key_name(self.name)


class StoreSummary(msgspec.Struct, kw_only=True):
    """One line of SHOW STATESTORES. `stage` is active, building (a Feed is being materialised) or dropped."""

    name: str
    stage: Literal["active", "building", "dropped"]
    source: Source
    keys: list[NamedKey]


class StoreDescription(StoreSummary, kw_only=True):
    """The answer to DESCRIBE STATESTORE (spec: S-19).

    `bytes` counts keys and payloads, `postings` the named values that are set, `unique_conflicts` the rows of a
    feed-sourced store that were kept without a posting (spec: F-06). Times are ISO 8601 in UTC; `updated_at` is
    when the definition last changed or the store was last cleared or rebuilt.
    """

    rows: int
    postings: int
    bytes: int
    applied_seq: int
    committed_seq: int
    behind: int
    unique_conflicts: int
    created_at: str
    updated_at: str


class StoreDefined(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The result of DEFINE STATESTORE; `note` says why nothing changed where that needs saying (spec: W-05)."""

    status: Literal["created", "unchanged"]
    seq: int
    store: StoreSummary
    note: str | None = None


class Dropped(msgspec.Struct, kw_only=True):
    """The result of a DROP; `existed` is false where IF EXISTS found nothing to drop."""

    status: Literal["dropped", "unchanged"]
    seq: int
    existed: bool


class Written(msgspec.Struct, kw_only=True):
    """What every mutation of rows gives. `replayed` marks the first outcome of a repeated mutation id (spec: S-07)."""

    seq: int
    replayed: bool
    freshness: Freshness


class RowWritten(Written, kw_only=True):
    """The result of a put; `replaced` tells whether there was a row with that key."""

    replaced: bool


class RowDeleted(Written, kw_only=True):
    """The result of a delete; `existed` tells whether there was a row (spec: S-08)."""

    existed: bool


class StoreCleared(Written, kw_only=True):
    """The result of a clear; `existed` tells whether there was any row."""

    existed: bool


class StoreRebuilt(msgspec.Struct, kw_only=True):
    """The result of a rebuild, whose passes go on after it is acknowledged; DESCRIBE shows `building` meanwhile."""

    seq: int
    existed: bool


class StoreRow(msgspec.Struct, omit_defaults=True, gc=False):
    """One row: key and payload as bytes, `named` with the declared keys that are set, and how fresh it is."""

    key: Blob
    payload: Blob
    named: dict[str, Value]
    freshness: Freshness | None = None


class StoreRows(msgspec.Struct):
    """The rows that carry a named value, in key order, always a list (spec: S-10)."""

    rows: list[StoreRow]
    freshness: Freshness


class StorePage(msgspec.Struct):
    """A bounded part of a store in key order; the last page has no `next_key` (spec: S-12)."""

    rows: list[StoreRow]
    next_key: Blob | None
    pinned_seq: int


class DefineStateStore(Command[StoreDefined], frozen=True):
    """Declare a store (spec: W-01, W-02)."""

    name: str
    source: Source = Manual()
    named_keys: list[NamedKey] = msgspec.field(default_factory=list)
    if_not_exists: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "store name")
        if not isinstance(self.source, Source):
            raise InvalidCommand(
                f"a source is Manual() or FromFeed(name), not {type(self.source).__name__}", "pass one of them"
            )
        check_items(self.named_keys, NamedKey, "named keys")
        check_named_keys([key.name for key in self.named_keys])
        feed_sourced = isinstance(self.source, FromFeed)
        for key in self.named_keys:
            if feed_sourced and key.extractor is None:
                raise InvalidCommand(
                    f"named key {key.name!r} of feed-sourced store {self.name!r} has no extractor",
                    "add METADATA 'name', JSON 'path' or RECORD_KEY to it",
                    named_key=key.name,
                )
            if key.extractor is not None and not feed_sourced:
                raise InvalidCommand(
                    f"named key {key.name!r} of manual store {self.name!r} has an extractor",
                    "extractors apply to stores FROM FEED only; drop it or name a feed",
                    named_key=key.name,
                )


class DropStateStore(Command[Dropped], frozen=True):
    """Tombstone a store's definition for good (spec: S-14)."""

    name: str
    if_exists: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "store name")


class DescribeStateStore(Command[StoreDescription], frozen=True):
    """Tell all about one store, a dropped one included (spec: S-19)."""

    name: str

    def __post_init__(self) -> None:
        check_name(self.name, "store name")


class ShowStateStores(Command[list[StoreSummary]], frozen=True):
    """List the stores that are not dropped, by name."""


class RebuildStateStore(Command[StoreRebuilt], frozen=True):
    """Materialise a feed-sourced store anew; readers see the old rows until it is done (spec: F-07)."""

    name: str

    def __post_init__(self) -> None:
        check_is_text(self.name, "a store name")


class PutRow(Command[RowWritten], frozen=True):
    """Write a whole row, its named values included (spec: S-01)."""

    store: str
    key: Blob
    payload: Blob = b""
    named: dict[str, Value] = msgspec.field(default_factory=dict)
    mutation_id: str | None = None

    def __post_init__(self) -> None:
        check_is_text(self.store, "a store name")
        check_key(self.key)
        check_payload(self.payload)
        check_named(self.named)
        if self.mutation_id is not None:
            check_mutation_id(self.mutation_id)


class DeleteRow(Command[RowDeleted], frozen=True):
    """Remove a row; a missing one is no error (spec: S-08)."""

    store: str
    key: Blob
    mutation_id: str | None = None

    def __post_init__(self) -> None:
        check_is_text(self.store, "a store name")
        check_key(self.key)
        check_mutation_id(self.mutation_id)


class ClearStateStore(Command[StoreCleared], frozen=True):
    """Empty a store in one mutation (spec: S-13)."""

    name: str
    mutation_id: str | None = None

    def __post_init__(self) -> None:
        check_is_text(self.name, "a store name")
        check_mutation_id(self.mutation_id)


class GetRow(Command[StoreRow | None], frozen=True):
    """Read one row by its key, or nothing (spec: S-09); a strict read waits up to `wait_ms` (spec: S-11).

    Where the row is `required` and there is none, that is NotFound, with the freshness that nothing could carry.
    """

    store: str
    key: Blob
    strict: bool = False
    wait_ms: int = DEFAULT_WAIT_MS
    required: bool = False

    def __post_init__(self) -> None:
        check_is_text(self.store, "a store name")
        check_key(self.key)
        check_wait_ms(self.wait_ms)


class GetBy(Command[StoreRows], frozen=True):
    """Read every row that carries `value` in `named_key` (spec: S-10)."""

    store: str
    named_key: str
    value: Value
    strict: bool = False
    wait_ms: int = DEFAULT_WAIT_MS

    def __post_init__(self) -> None:
        check_is_text(self.store, "a store name")
        check_value(self.value, self.named_key)
        check_wait_ms(self.wait_ms)


class PageRows(Command[StorePage], frozen=True):
    """Read up to `limit` rows after the key `after`, in key order (spec: S-12)."""

    store: str
    limit: int = 256
    after: Blob | None = None

    def __post_init__(self) -> None:
        check_is_text(self.store, "a store name")
        check_limit(self.limit, MAX_PAGE)


class ShowFreshness(Command[Freshness], frozen=True):
    """Tell the journal's last position, and how current the store is that lags most behind it (spec: P-01)."""


def check_named_keys(names: list[str]) -> None:
    """Refuse more than ten named keys, a name twice or a blank one: the declaration contract (spec: W-07).

    Raises:
        InvalidCommand: naming the key.
    """
    for name in names:
        check_key_name(name)
    if len(names) > MAX_NAMED_KEYS:
        raise InvalidCommand(
            f"{len(names)} named keys are declared, and {MAX_NAMED_KEYS} is the limit",
            f"up to {MAX_NAMED_KEYS} keys with distinct names may be declared; leave out {names[MAX_NAMED_KEYS]!r}",
            named_key=names[MAX_NAMED_KEYS],
        )
    for position, name in enumerate(names):
        if name in names[:position]:
            raise InvalidCommand(
                f"named key {name!r} is declared twice",
                f"up to {MAX_NAMED_KEYS} keys with distinct names may be declared",
                named_key=name,
            )
