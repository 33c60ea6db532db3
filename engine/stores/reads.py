"""Reading stores: by key, by named value, in key order, and what DESCRIBE tells (spec: S-09 … S-12, S-19)."""

import sqlite3
from typing import Any

from dex.engine.catalog import Store
from dex.engine.freshness import current, lagging
from dex.engine.postings import from_column, to_column
from dex.engine.reader import Readers, Snapshot
from dex.engine.stores.keys import undeclared
from dex.engine.stores.materialise import applied_seq
from dex.engine.stores.tables import sql
from dex.wcl.commands import Freshness, GetBy, GetRow, NamedKey, PageRows, StorePage, StoreRow, StoreRows

_MAX_PAGE_BYTES = 8 * 1024 * 1024


def get(readers: Readers, command: GetRow) -> StoreRow | None:
    """Read one row of a manual store in a single statement, which also tells whether the definitions still hold.

    Raises:
        Refused: no such store.
    """
    reader = readers.take()
    try:
        store = reader.catalog.stores.get(command.store)
        if store is not None and store.feed is None and not store.dropped:
            found = reader.connection.execute(sql(store, store.live).get, (command.key,)).fetchone()
            if found[0] == reader.catalog.version:
                if found[2] is None:
                    return None
                return StoreRow(command.key, found[2], named_values(store.keys, found, 3), current(found[1]))
    except sqlite3.Error:
        pass  # the table went with a clear that this reader has not seen; the snapshot below sees it
    finally:
        readers.give(reader)
    with readers.snapshot() as snapshot:
        return get_from(snapshot, command)


def get_from(snapshot: Snapshot, command: GetRow) -> StoreRow | None:
    """Read one row of any store from a snapshot.

    Raises:
        Refused: no such store.
    """
    store = snapshot.catalog.store(command.store)
    found = snapshot.connection.execute(sql(store, store.live).get, (command.key,)).fetchone()
    if found[2] is None:
        return None
    return StoreRow(command.key, found[2], named_values(store.keys, found, 3), freshness(snapshot, store))


def get_by(snapshot: Snapshot, command: GetBy) -> StoreRows:
    """Read every row that carries a named value, in key order; null is found by grouping keys only (spec: S-06).

    Raises:
        Refused: no such store or named key.
    """
    store = snapshot.catalog.store(command.store)
    matches = sql(store, store.live).matches[_position(store, command.named_key)]
    keys = store.keys
    found = snapshot.connection.execute(matches, (to_column(command.value),)).fetchall()
    return StoreRows(
        [StoreRow(row[0], row[1], named_values(keys, row, 2)) for row in found], freshness(snapshot, store)
    )


def page(snapshot: Snapshot, command: PageRows) -> StorePage:
    """Read up to `limit` rows after a key, and fewer where they are large, so that a page stays bounded.

    Raises:
        Refused: no such store.
    """
    store = snapshot.catalog.store(command.store)
    how_fresh = freshness(snapshot, store)
    cursor = snapshot.connection.execute(sql(store, store.live).page, (command.after or b"", command.limit + 1))
    rows: list[StoreRow] = []
    size = 0
    for found in cursor:
        if len(rows) == command.limit or size >= _MAX_PAGE_BYTES:
            return StorePage(rows, rows[-1].key, snapshot.seq)
        rows.append(StoreRow(found[0], found[1], named_values(store.keys, found, 2), how_fresh))
        size += len(found[0]) + len(found[1])
    return StorePage(rows, None, snapshot.seq)


def totals(connection: sqlite3.Connection, store: Store) -> tuple[int, int, int]:
    """Count a store's rows, its named values that are set, and the bytes of its keys and payloads."""
    postings = " + ".join(f"count(n{i})" for i in range(len(store.keys))) or "0"
    query = f"SELECT count(*), {postings}, total(length(key) + length(payload)) FROM {store.live.table}"
    rows, named, size = connection.execute(query).fetchone()
    return rows, named, int(size)


def named_values(keys: tuple[NamedKey, ...], found: tuple[Any, ...], first: int) -> dict[str, Any]:
    """Give the named values of a row whose columns begin at `first`."""
    named = {}
    for key in keys:
        stored = found[first]
        if stored is not None:
            named[key.name] = from_column(stored) if stored.__class__ is bytes else stored
        first += 1
    return named


def freshness(snapshot: Snapshot, store: Store) -> Freshness:
    """Tell how current a store's rows are: feed-sourced ones may lag behind their feed (spec: S-11)."""
    applied = applied_seq(snapshot.connection, store, store.feed) if store.feed else None
    return current(snapshot.seq) if applied is None else lagging(applied, snapshot.seq)


def _position(store: Store, name: str) -> int:
    for position, key in enumerate(store.keys):
        if key.name == name:
            return position
    raise undeclared(store, name)
