"""Looking at everything at once, in an amount of work that does not grow with what there is (spec: K-01)."""

from collections.abc import Callable
from typing import Any

from dex.engine.catalog import Feed, Store, feed_summary, summary
from dex.engine.clock import iso
from dex.engine.flows.state import counting
from dex.engine.reader import Snapshot
from dex.engine.stores import reads
from dex.engine.stores.materialise import is_behind, last_seq
from dex.engine.sync import backlog
from dex.wcl.commands.overview import (
    AGE_LIMITS_SECONDS,
    MOST_COUNTED,
    FeedOverview,
    FlowCount,
    Overview,
    ShowOverview,
    StoreOverview,
    SyncOverview,
)


def show_overview(snapshot: Snapshot, command: ShowOverview, now_ms: int) -> Overview:
    """Look at stores, feeds, Flows and sync."""
    stores = sorted((store for store in snapshot.catalog.stores.values() if not store.dropped), key=_name)
    feeds = sorted((feed for feed in snapshot.catalog.feeds.values() if not feed.dropped), key=_name)
    counts = counting.by_type_and_status(snapshot.connection, command.limit, MOST_COUNTED)
    return Overview(
        at=iso(now_ms),
        position=snapshot.seq,
        stores=[_store(snapshot, store) for store in stores[: command.limit]],
        total_stores=len(stores),
        feeds=[_feed(snapshot, feed) for feed in feeds[: command.limit]],
        total_feeds=len(feeds),
        flows=[FlowCount(type=type_, status=status, runs=runs) for type_, status, runs in counts],
        sync=[_sync(snapshot, name, now_ms) for name in backlog.stores(snapshot.connection)[: command.limit]],
    )


def _name(defined: Store | Feed) -> str:
    return defined.name


def _store(snapshot: Snapshot, store: Store) -> StoreOverview:
    head = summary(store, building=is_behind(snapshot.connection, store))
    return StoreOverview(
        name=head.name,
        stage=head.stage,
        source=head.source,
        keys=head.keys,
        rows=reads.count(snapshot.connection, store, MOST_COUNTED),
        behind=reads.freshness(snapshot, store).behind,
    )


def _feed(snapshot: Snapshot, feed: Feed) -> FeedOverview:
    head = feed_summary(feed, snapshot.catalog.over(feed))
    return FeedOverview(
        name=head.name, stage=head.stage, stores=head.stores, last_seq=last_seq(snapshot.connection, feed)
    )


def _sync(snapshot: Snapshot, name: str, now_ms: int) -> SyncOverview:
    bounds = [now_ms - 1000 * seconds for seconds in AGE_LIMITS_SECONDS]
    found = backlog.ages(snapshot.connection, name, bounds, MOST_COUNTED)
    return SyncOverview(
        store=name,
        pending=sum(found.counts),
        oldest_age_seconds=max(0, now_ms - found.oldest_at) / 1000,
        oldest_flow_id=found.oldest_flow_id,
        ages=found.counts,
        attempts=found.attempts,
    )


HANDLERS: dict[type[Any], Callable[[Snapshot, Any, int], Any]] = {ShowOverview: show_overview}
