"""What is defined: the stores and feeds of a file, read at once and kept until the catalog's version rises."""

import sqlite3
from collections.abc import Iterable

import msgspec

from dex.wcl.commands import FeedSummary, FromFeed, Manual, NamedKey, StoreSummary
from dex.wcl.errors import Refused
from dex.wcl.names import check_is_text, did_you_mean

_encode_keys = msgspec.json.Encoder().encode
_decode_keys = msgspec.json.Decoder(list[NamedKey]).decode


class Feed(msgspec.Struct, frozen=True):
    """A feed as it is defined. Its records are in `table`."""

    id: int
    name: str
    dropped: bool
    created_at: int
    updated_at: int

    @property
    def table(self) -> str:
        """The table of its records."""
        return f"feed_{self.id}"


class Generation(msgspec.Struct, frozen=True):
    """One table of rows of a store. Clearing and rebuilding start a new one, which makes both O(1)."""

    table: str
    number: int

    @classmethod
    def of(cls, store_id: int, number: int) -> "Generation":
        """Give a store's generation by its number."""
        return cls(f"rows_{store_id}_{number}", number)


class Store(msgspec.Struct):
    """A store as it is defined. `next` is the generation that a rebuild is filling, if one is.

    `names` and `uniques` are the keys' names and whether they are unique, in the order of declaration.
    """

    id: int
    name: str
    feed: Feed | None
    keys: tuple[NamedKey, ...]
    dropped: bool
    live: Generation
    next: Generation | None
    created_at: int
    updated_at: int
    names: tuple[str, ...] = ()
    uniques: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        self.names = tuple(key.name for key in self.keys)
        self.uniques = tuple(key.unique for key in self.keys)

    @property
    def filling(self) -> Generation:
        """The generation that new feed records go to."""
        return self.next or self.live


class Catalog:
    """All definitions at one version."""

    def __init__(self, version: int, stores: list[Store], feeds: list[Feed], garbage: tuple[str, ...]) -> None:
        self.version = version
        self.stores = {store.name: store for store in stores}
        self.feeds = {feed.name: feed for feed in feeds}
        self.garbage = garbage

    def store(self, name: str) -> Store:
        """Give a live store.

        Raises:
            Refused: there is none, with the nearest names, or it was dropped (spec: S-14, S-18); or it is no text.
        """
        store = self.stores.get(name)
        if store is None:
            raise self._unknown("store", name, (known.name for known in self.stores.values() if not known.dropped))
        if store.dropped:
            raise self._dropped("store", name)
        return store

    def feed(self, name: str) -> Feed:
        """Give a live feed.

        Raises:
            Refused: there is none, with the nearest names, or it was dropped (spec: W-11).
        """
        feed = self.feeds.get(name)
        if feed is None:
            raise self._unknown("feed", name, (known.name for known in self.feeds.values() if not known.dropped))
        if feed.dropped:
            raise self._dropped("feed", name)
        return feed

    def any_store(self, name: str) -> Store:
        """Give a store, a dropped one included.

        Raises:
            Refused: there is none.
        """
        return self.stores[name] if name in self.stores else self.store(name)

    def any_feed(self, name: str) -> Feed:
        """Give a feed, a dropped one included.

        Raises:
            Refused: there is none.
        """
        return self.feeds[name] if name in self.feeds else self.feed(name)

    def over(self, feed: Feed) -> list[Store]:
        """Give the live stores that materialise a feed, in the order of their definition."""
        return [store for store in self.stores.values() if store.feed == feed and not store.dropped]

    @staticmethod
    def _unknown(what: str, name: str, known: Iterable[str]) -> Refused:
        check_is_text(name, f"a {what} name")
        names = sorted(known)
        verb = "STATESTORES" if what == "store" else "FEEDS"
        remedy = did_you_mean(name, names) or f"SHOW {verb} lists the {what}s there are, DEFINE makes a new one"
        return Refused(f"there is no {what} {name!r}", remedy, name=name, reason=f"unknown_{what}")

    @staticmethod
    def _dropped(what: str, name: str) -> Refused:
        return Refused(
            f"{what} {name!r} was dropped, and a dropped name stays taken",
            f"use another {what} name",
            name=name,
            reason="dropped",
        )


def load(connection: sqlite3.Connection) -> Catalog:
    """Read all definitions; the caller's transaction or a single connection keeps them consistent."""
    (version,) = connection.execute("SELECT version FROM catalog").fetchone()
    feeds = {
        row[0]: Feed(row[0], row[1], bool(row[2]), row[3], row[4])
        for row in connection.execute("SELECT id, name, dropped, created_at, updated_at FROM feeds ORDER BY id")
    }
    rows = connection.execute(
        "SELECT id, name, feed_id, keys, dropped, generation, next_generation, created_at, updated_at"
        " FROM stores ORDER BY id"
    )
    stores = [_store(row, feeds) for row in rows]
    garbage = tuple(name for (name,) in connection.execute("SELECT table_name FROM garbage ORDER BY rowid"))
    return Catalog(version, stores, list(feeds.values()), garbage)


def _store(row: tuple, feeds: dict[int, Feed]) -> Store:  # type: ignore[type-arg]  # a row of mixed types
    store_id, name, feed_id, keys, dropped, number, next_number, created_at, updated_at = row
    return Store(
        store_id,
        name,
        feeds.get(feed_id),
        tuple(_decode_keys(keys)),
        bool(dropped),
        Generation.of(store_id, number),
        None if next_number is None else Generation.of(store_id, next_number),
        created_at,
        updated_at,
    )


def encode_keys(keys: list[NamedKey]) -> str:
    """Give the column form of declared keys."""
    return _encode_keys(keys).decode()


def touch(connection: sqlite3.Connection) -> None:
    """Raise the catalog's version, in the transaction that changed a definition."""
    connection.execute("UPDATE catalog SET version = version + 1")


def summary(store: Store, *, building: bool) -> StoreSummary:
    """Give a store's line of SHOW STATESTORES."""
    return StoreSummary(
        name=store.name,
        stage="dropped" if store.dropped else "building" if building else "active",
        source=FromFeed(store.feed.name) if store.feed else Manual(),
        keys=list(store.keys),
    )


def feed_summary(feed: Feed, stores: list[Store]) -> FeedSummary:
    """Give a feed's line of SHOW FEEDS."""
    return FeedSummary(
        name=feed.name, stage="dropped" if feed.dropped else "active", stores=sorted(store.name for store in stores)
    )
