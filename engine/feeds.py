"""Feeds: committed, ordered logs of records, and their hand-over to the stores that materialise them (spec: F-01)."""

import sqlite3

import msgspec

from dex.engine.apply import Apply, Outcome
from dex.engine.catalog import Feed, feed_summary
from dex.engine.reader import Snapshot
from dex.engine.stores import tables
from dex.engine.stores.materialise import Record, cursor, last_seq, materialise, records_after
from dex.wcl.commands import (
    AppendRecords,
    CommittedRecord,
    DefineFeed,
    DropFeed,
    Dropped,
    FeedDefined,
    FeedPage,
    PageRecords,
    RecordsAppended,
)
from dex.wcl.errors import Refused
from dex.wcl.names import TEMPORARY

_encode_metadata = msgspec.json.Encoder(order="deterministic").encode
_MAX_PAGE_BYTES = 8 * 1024 * 1024


def define(apply: Apply, command: DefineFeed) -> Outcome:
    """Declare a feed, or find it declared.

    Raises:
        Refused: the name was dropped before.
    """
    if command.name in apply.catalog.feeds:
        feed = apply.catalog.feed(command.name)
        found = feed_summary(feed, apply.catalog.over(feed))
        return Outcome(FeedDefined(status="unchanged", seq=apply.seq - 1, feed=found), wrote=False)
    feed = Feed(apply.seq, command.name, dropped=False, created_at=apply.at, updated_at=apply.at)
    apply.connection.execute(
        f"CREATE TABLE {feed.table} (seq INTEGER PRIMARY KEY, journal_seq INTEGER NOT NULL, key BLOB NOT NULL,"
        " metadata TEXT NOT NULL, payload BLOB)"
    )
    apply.connection.execute(
        "INSERT INTO feeds (id, name, dropped, created_at, updated_at) VALUES (?, ?, 0, ?, ?)",
        (feed.id, feed.name, apply.at, apply.at),
    )
    result = FeedDefined(status="created", seq=apply.seq, feed=feed_summary(feed, []))
    return Outcome(result, changed_catalog=True)


def drop(apply: Apply, command: DropFeed) -> Outcome:
    """Tombstone a feed: its name stays taken, unless it is a temporary one, and its records are swept.

    Raises:
        Refused: there is none, unless `if_exists`; or a store materialises it.
    """
    existing = apply.catalog.feeds.get(command.name)
    if command.if_exists and (existing is None or existing.dropped):
        return Outcome(Dropped(status="unchanged", seq=apply.seq - 1, existed=False), wrote=False)
    feed = apply.catalog.feed(command.name)
    stores = sorted(store.name for store in apply.catalog.over(feed))
    if stores:
        raise Refused(
            f"feed {feed.name!r} is materialised by {', '.join(stores)}", "drop these stores first", stores=stores
        )
    tables.discard(apply.connection, feed.table)
    if feed.name.startswith(TEMPORARY):
        apply.connection.execute("DELETE FROM feeds WHERE id = ?", (feed.id,))
        return Outcome(Dropped(status="dropped", seq=apply.seq, existed=True), changed_catalog=True)
    apply.connection.execute("UPDATE feeds SET dropped = 1, updated_at = ? WHERE id = ?", (apply.at, feed.id))
    return Outcome(Dropped(status="dropped", seq=apply.seq, existed=True), changed_catalog=True)


def append(apply: Apply, command: AppendRecords) -> Outcome:
    """Append records; a store that has all earlier ones gets these at once, others by the passes of `catch_up`.

    Raises:
        Refused: no such feed.
    """
    feed = apply.catalog.feed(command.feed)
    last = last_seq(apply.connection, feed)
    records = [
        Record(last + i, record.key, record.metadata, record.payload)
        for i, record in enumerate(command.records, start=1)
    ]
    apply.connection.executemany(
        f"INSERT INTO {feed.table} (seq, journal_seq, key, metadata, payload) VALUES (?, ?, ?, ?, ?)",
        [
            (record.seq, apply.seq, record.key, _encode_metadata(record.metadata).decode(), record.payload)
            for record in records
        ],
    )
    for store in apply.catalog.over(feed):
        if cursor(apply.connection, store.filling) == last:
            materialise(apply.connection, store, records)
    return Outcome(RecordsAppended(first_seq=last + 1, seq=records[-1].seq, replayed=False))


def page(snapshot: Snapshot, command: PageRecords) -> FeedPage:
    """Give up to `limit` records after a position, and fewer where they are large.

    Raises:
        Refused: no such feed.
    """
    feed = snapshot.catalog.feed(command.feed)
    records: list[CommittedRecord] = []
    size = 0
    for record in records_after(snapshot.connection, feed, command.after, command.limit):
        records.append(CommittedRecord(record.seq, record.key, record.metadata, record.payload))
        size += len(record.payload or b"")
        if size >= _MAX_PAGE_BYTES:
            break
    more = bool(records) and records[-1].seq < last_seq(snapshot.connection, feed)
    return FeedPage(records, records[-1].seq if more else None)


def totals(connection: sqlite3.Connection, feed: Feed) -> tuple[int, int]:
    """Give how many records a feed has, and the bytes of their keys and payloads."""
    query = f"SELECT count(*), total(length(key) + ifnull(length(payload), 0)) FROM {feed.table}"
    records, size = connection.execute(query).fetchone()
    return records, int(size)
