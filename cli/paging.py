"""Rows of a store one after the other, fetched page by page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dex.wcl.commands import PageRows, ShowStateStores, StoreRow

if TYPE_CHECKING:
    from dex.engine.local import LocalEngine

PAGE = 256


def rows_of_store(engine: "LocalEngine", store: str, limit: int | None = None) -> Iterator[StoreRow]:
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


def row_columns(engine: "LocalEngine", store: str) -> list[str]:
    """Give the columns of a store's rows in tables and CSV: one for each declared key."""
    summaries = engine.execute(ShowStateStores())
    keys = next((summary.keys for summary in summaries if summary.name == store), [])
    return ["key", "payload", *(f"named.{key.name}" for key in keys)]
