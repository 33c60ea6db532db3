"""The Feed of the SDK: a thin facade that appends and reads records (spec: F-01)."""

from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

from dex.engine.protocol import Engine
from dex.engine.statestore import mutation_id_text
from dex.wcl.commands import (
    AppendRecords,
    CommittedRecord,
    DefineFeed,
    DescribeFeed,
    DropFeed,
    Dropped,
    FeedDescription,
    FeedPage,
    FeedRecord,
    FeedSummary,
    PageRecords,
    RecordsAppended,
    ShowFeeds,
)
from dex.wcl.errors import InvalidCommand
from dex.wcl.values import to_bytes

_WAIT_MS = 1_000


class Feed:
    """A feed by name, bound to an engine. Keys and payloads take bytes, or text as UTF-8; a payload of None deletes."""

    def __init__(self, name: str, engine: Engine) -> None:
        self.name = name
        self._engine = engine

    def append(
        self,
        key: bytes | str,
        payload: bytes | str | None = None,
        metadata: Mapping[str, str] | None = None,
        *,
        mutation_id: UUID | str | None = None,
    ) -> RecordsAppended:
        """Append one record; `seq` of the result is its position.

        Raises:
            Refused: no such feed, or a key, payload or metadata over its limit.
            Conflict: the mutation id was used with other contents.
        """
        return self.append_many([_record(key, payload, metadata)], mutation_id=mutation_id)

    def append_many(self, records: Iterable[FeedRecord], *, mutation_id: UUID | str | None = None) -> RecordsAppended:
        """Append records in one commit, all or none.

        Raises:
            Refused, Conflict: as `append`.
        """
        if not isinstance(records, Iterable):
            raise InvalidCommand(f"records are a list, not {type(records).__name__}", "pass [FeedRecord(b'a', b'1')]")
        identity = mutation_id_text(mutation_id)
        return self._engine.execute(AppendRecords(feed=self.name, records=list(records), mutation_id=identity))

    def page(self, after: int = 0, limit: int = 256) -> FeedPage:
        """Read records after a position; the last page has no `next`."""
        return self._engine.execute(PageRecords(feed=self.name, after=after, limit=limit))

    def tail(self, after: int = 0) -> Iterator[CommittedRecord]:
        """Give the records after a position and then each new one, for ever."""
        while True:
            page = self._engine.execute(PageRecords(feed=self.name, after=after, wait_ms=_WAIT_MS))
            yield from page.records
            after = page.records[-1].seq if page.records else after

    def drop(self) -> Dropped:
        """Tombstone the feed; refused while a store materialises it."""
        return self._engine.execute(DropFeed(name=self.name))


class Feeds:
    """The control plane of feeds: `client.feeds`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def define(self, name: str) -> Feed:
        """Declare a feed, or find it declared.

        Raises:
            Refused: the name was dropped before.
        """
        self._engine.execute(DefineFeed(name=name))
        return Feed(name, self._engine)

    def drop(self, name: str) -> Dropped:
        """Tombstone a feed; refused while a store materialises it."""
        return self._engine.execute(DropFeed(name=name))

    def describe(self, name: str) -> FeedDescription:
        """Tell all about a feed, a dropped one included.

        Raises:
            Refused: there is none, with the nearest names.
        """
        return self._engine.execute(DescribeFeed(name=name))

    def list(self) -> list[FeedSummary]:
        """List the feeds that are not dropped, by name."""
        return self._engine.execute(ShowFeeds())


def _record(key: bytes | str, payload: bytes | str | None, metadata: Mapping[str, str] | None) -> FeedRecord:
    if not isinstance(metadata, Mapping | None):
        raise InvalidCommand(f"metadata is a dict, not {type(metadata).__name__}", 'pass {"source": "web"}')
    return FeedRecord(
        to_bytes(key, "key"), None if payload is None else to_bytes(payload, "payload"), dict(metadata or {})
    )
