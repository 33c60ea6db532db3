"""Reading stores: by key, by named value, in key order, and what DESCRIBE tells (spec: S-09 … S-12, S-19)."""

import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from dex.engine.catalog import Store
from dex.engine.postings import from_column, to_column
from dex.engine.reader import Readers, Snapshot
from dex.engine.stores.keys import undeclared
from dex.engine.stores.materialise import applied_seq
from dex.engine.stores.tables import sql
from dex.wcl.commands import Freshness, GetBy, GetRow, PageRows, StorePage, StoreRow, StoreRows
from dex.wcl.errors import NotFound

_MAX_PAGE_BYTES = 8 * 1024 * 1024


class LookUp(NamedTuple):
    """How one kind of look-up asks and answers: its statement with the parameter, and its result."""

    query: Callable[[Store, Any], tuple[str, tuple[Any]]]
    answer: Callable[[Store, list[tuple[Any, ...]], Freshness, Any], Any]


def look_up(readers: Readers, command: Any, kind: LookUp) -> Any:
    """Answer from a manual store in a single statement, which also tells whether the definitions still hold.

    Raises:
        Refused: no such store or named key.
    """
    reader = readers.take()
    try:
        store = reader.catalog.stores.get(command.store)
        if store is not None and store.feed is None and not store.dropped:
            found = reader.connection.execute(*kind.query(store, command)).fetchall()
            if found[0][0] == reader.catalog.version:
                return kind.answer(store, found, readers.evidence(found[0][1], found[0][1]), command)
    except sqlite3.Error:
        pass  # the table went with a clear that this reader has not seen, or the snapshot below meets the fault again
    finally:
        readers.give(reader)
    with readers.snapshot() as snapshot:
        return look_up_in(snapshot, command, kind)


def look_up_in(snapshot: Snapshot, command: Any, kind: LookUp) -> Any:
    """Answer from any store in a snapshot.

    Raises:
        Refused: no such store or named key.
    """
    store = snapshot.catalog.store(command.store)
    found = snapshot.connection.execute(*kind.query(store, command)).fetchall()
    return kind.answer(store, found, freshness(snapshot, store), command)


def _query_key(store: Store, command: GetRow) -> tuple[str, tuple[Any]]:
    return sql(store, store.live).get, (command.key,)


def _answer_key(store: Store, found: list[tuple[Any, ...]], how_fresh: Freshness, command: GetRow) -> StoreRow | None:
    (row,) = found
    if row[2] is not None:
        return StoreRow(row[2], row[3], named_values(store.names, row, 4), how_fresh)
    if command.required:
        raise _no_row(command, how_fresh)
    return None


def _no_row(command: GetRow, how_fresh: Freshness) -> NotFound:
    """Give the error for a row that is not there; how fresh that is tells whether it may be there by now."""
    key = command.key.decode("utf-8", "backslashreplace")
    return NotFound(
        f"there is no row {key!r} in {command.store!r}",
        "`dex store iterate` shows what there is",
        store=command.store,
        key=key,
        freshness=msgspec.structs.asdict(how_fresh),
    )


def _query_value(store: Store, command: GetBy) -> tuple[str, tuple[Any]]:
    if command.named_key not in store.names:
        raise undeclared(store, command.named_key)
    return sql(store, store.live).find[store.names.index(command.named_key)], (to_column(command.value),)


def _answer_value(store: Store, found: list[tuple[Any, ...]], how_fresh: Freshness, _command: GetBy) -> StoreRows:
    names = store.names
    rows = [StoreRow(row[2], row[3], named_values(names, row, 4)) for row in found if row[2] is not None]
    return StoreRows(rows, how_fresh)


BY_KEY = LookUp(_query_key, _answer_key)
"""Read one row by its key (spec: S-09)."""

BY_VALUE = LookUp(_query_value, _answer_value)
"""Read every row that carries a value, in key order; null is found by grouping keys only (spec: S-06, S-10)."""


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
        rows.append(StoreRow(found[0], found[1], named_values(store.names, found, 2), how_fresh))
        size += len(found[0]) + len(found[1])
    return StorePage(rows, None, snapshot.seq)


def totals(connection: sqlite3.Connection, store: Store) -> tuple[int, int, int]:
    """Count a store's rows, its named values that are set, and the bytes of its keys and payloads."""
    postings = " + ".join(f"count(n{i})" for i in range(len(store.keys))) or "0"
    query = f"SELECT count(*), {postings}, total(length(key) + length(payload)) FROM {store.live.table}"
    rows, named, size = connection.execute(query).fetchone()
    return rows, named, int(size)


def count(connection: sqlite3.Connection, store: Store, most: int) -> int:
    """Count a store's rows without reading them; counting ends at `most`."""
    query = f"SELECT count(*) FROM (SELECT 1 FROM {store.live.table} LIMIT ?)"
    return int(connection.execute(query, (most,)).fetchone()[0])


def named_values(names: tuple[str, ...], found: tuple[Any, ...], first: int) -> dict[str, Any]:
    """Give the named values of a row whose columns begin at `first`."""
    named = {}
    for name in names:
        stored = found[first]
        if stored is not None:
            named[name] = from_column(stored) if stored.__class__ is bytes else stored
        first += 1
    return named


def freshness(snapshot: Snapshot, store: Store) -> Freshness:
    """Tell how current a store's rows are: feed-sourced ones may lag behind their feed (spec: S-11)."""
    return snapshot.freshness(reached(snapshot, store))


def reached(snapshot: Snapshot, store: Store) -> int:
    """Give the position that a store's rows have, of those that the file has."""
    if store.feed is None or store.dropped:
        return snapshot.seq
    applied = applied_seq(snapshot.connection, store, store.feed)
    return snapshot.seq if applied is None else applied
