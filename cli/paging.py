"""Rows of a store one after the other, fetched page by page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dex.wcl.commands import FromFeed, PageRows, ShowStateStores, StoreRow, StoreSummary
from dex.wcl.errors import Refused

if TYPE_CHECKING:
    from dex.engine.protocol import Engine

PAGE = 256


def rows_of_store(engine: "Engine", store: str, limit: int | None = None) -> Iterator[StoreRow]:
    """Give the rows in key order, at most `limit`, without the freshness that pages repeat (spec: S-12).

    Raises:
        Refused: there is no such store.
    """
    after, left = None, limit
    while True:
        page = engine.execute(PageRows(store=store, after=after, limit=PAGE if left is None else min(PAGE, left)))
        for row in page.rows:
            row.freshness = None
            yield row
        after = page.next_key
        left = None if left is None else left - len(page.rows)
        if after is None or left == 0:
            return


def declared_keys(engine: "Engine", store: str) -> list[str]:
    """Give the named keys that a store declares.

    Raises:
        Refused: there is no such store, or it was dropped.
    """
    return [key.name for key in _summary(engine, store).keys]


def keys_to_put(engine: "Engine", store: str) -> list[str]:
    """Give the named keys of a store whose rows are put by callers.

    Raises:
        Refused: there is no such store, or its rows come from a feed.
    """
    summary = _summary(engine, store)
    if isinstance(summary.source, FromFeed):
        feed = summary.source.feed
        raise Refused(
            f"store {store!r} is materialised from feed {feed!r} and takes no rows",
            f"append to the feed, as `dex feed import {feed}` does",
            store=store,
        )
    return [key.name for key in summary.keys]


def _summary(engine: "Engine", store: str) -> StoreSummary:
    engine.execute(PageRows(store=store, limit=1))  # tells what is wrong with a name
    found = [summary for summary in engine.execute(ShowStateStores()) if summary.name == store]
    if not found:
        raise Refused(f"store {store!r} was dropped meanwhile", "use another store name", name=store)
    return found[0]
