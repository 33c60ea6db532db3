"""SHOW and DESCRIBE: what is defined, and how much there is of it (spec: W-03, W-11, S-19)."""

from operator import attrgetter

from dex.engine.catalog import Store, feed_summary, summary
from dex.engine.clock import iso
from dex.engine.feeds import totals as feed_totals
from dex.engine.reader import Snapshot
from dex.engine.stores import reads
from dex.engine.stores.materialise import is_behind, last_seq, unique_conflicts
from dex.wcl.commands import (
    DescribeFeed,
    DescribeStateStore,
    FeedDescription,
    FeedSummary,
    Freshness,
    ShowFeeds,
    ShowFreshness,
    ShowStateStores,
    StoreDescription,
    StoreSummary,
)


def show_state_stores(snapshot: Snapshot, _command: ShowStateStores) -> list[StoreSummary]:
    """List the live stores by name (spec: W-03)."""
    stores = sorted(snapshot.catalog.stores.values(), key=lambda store: store.name)
    return [_summary(snapshot, store) for store in stores if not store.dropped]


def describe_state_store(snapshot: Snapshot, command: DescribeStateStore) -> StoreDescription:
    """Tell all about one store (spec: S-19)."""
    store = snapshot.catalog.any_store(command.name)
    head = _summary(snapshot, store)
    rows, postings, size = (0, 0, 0) if store.dropped else reads.totals(snapshot.connection, store)
    how_fresh = reads.freshness(snapshot, store)
    lost = 0 if store.feed is None or store.dropped else unique_conflicts(snapshot.connection, store.live)
    return StoreDescription(
        name=head.name,
        stage=head.stage,
        source=head.source,
        keys=head.keys,
        rows=rows,
        postings=postings,
        bytes=size,
        applied_seq=how_fresh.applied_seq,
        committed_seq=how_fresh.committed_seq,
        behind=how_fresh.behind,
        unique_conflicts=lost,
        created_at=iso(store.created_at),
        updated_at=iso(store.updated_at),
    )


def show_feeds(snapshot: Snapshot, _command: ShowFeeds) -> list[FeedSummary]:
    """List the live feeds by name (spec: W-11)."""
    feeds = sorted(snapshot.catalog.feeds.values(), key=lambda feed: feed.name)
    return [feed_summary(feed, snapshot.catalog.over(feed)) for feed in feeds if not feed.dropped]


def describe_feed(snapshot: Snapshot, command: DescribeFeed) -> FeedDescription:
    """Tell all about one feed (spec: W-11)."""
    feed = snapshot.catalog.any_feed(command.name)
    head = feed_summary(feed, snapshot.catalog.over(feed))
    records, size = (0, 0) if feed.dropped else feed_totals(snapshot.connection, feed)
    return FeedDescription(
        name=head.name,
        stage=head.stage,
        stores=head.stores,
        records=records,
        bytes=size,
        last_seq=0 if feed.dropped else last_seq(snapshot.connection, feed),
        created_at=iso(feed.created_at),
        updated_at=iso(feed.updated_at),
    )


def _summary(snapshot: Snapshot, store: Store) -> StoreSummary:
    return summary(store, building=is_behind(snapshot.connection, store))


def show_freshness(snapshot: Snapshot, _command: ShowFreshness) -> Freshness:
    """Tell the journal's last position, and how current the store is that lags most behind it (spec: P-01)."""
    live = (store for store in snapshot.catalog.stores.values() if not store.dropped)
    lags = [reads.freshness(snapshot, store) for store in live if store.feed is not None]
    return min(lags, key=attrgetter("applied_seq"), default=snapshot.freshness(snapshot.seq))
