"""Defining, dropping, clearing and rebuilding stores: each O(1), what is left behind is swept later."""

import sqlite3

from dex.engine.apply import Apply, Outcome
from dex.engine.catalog import Generation, Store, encode_keys, summary, touch
from dex.engine.freshness import current
from dex.engine.stores import tables
from dex.engine.stores.rows import manual
from dex.wcl.commands import (
    ClearStateStore,
    DefineStateStore,
    Dropped,
    DropStateStore,
    FromFeed,
    RebuildStateStore,
    StoreCleared,
    StoreDefined,
    StoreRebuilt,
)
from dex.wcl.errors import Conflict, Refused
from dex.wcl.names import TEMPORARY


def define(apply: Apply, command: DefineStateStore) -> Outcome:
    """Declare a store, or find it declared (spec: W-05, F-02).

    Raises:
        Refused: the name was dropped before, or the feed does not exist.
        Conflict: the store exists with another source (`reason` source).
    """
    existing = apply.catalog.stores.get(command.name)
    if existing is not None:
        return _redefine(apply, apply.catalog.store(command.name), command)
    feed = apply.catalog.feed(command.source.feed) if isinstance(command.source, FromFeed) else None
    store = Store(
        apply.seq, command.name, feed, tuple(command.named_keys), dropped=False,
        live=Generation.of(apply.seq, 0), next=None, created_at=apply.at, updated_at=apply.at,
    )  # fmt: skip
    _create(apply.connection, store, store.live)
    apply.connection.execute(
        "INSERT INTO stores (id, name, feed_id, keys, dropped, generation, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, 0, 0, ?, ?)",
        (store.id, store.name, feed.id if feed else None, encode_keys(command.named_keys), apply.at, apply.at),
    )
    result = StoreDefined(status="created", seq=apply.seq, store=summary(store, building=False))
    return Outcome(result, changed_catalog=True)


def drop(apply: Apply, command: DropStateStore) -> Outcome:
    """Tombstone a store: its name stays taken, unless it is a temporary one, and its rows are swept (spec: S-14).

    Raises:
        Refused: there is none, unless `if_exists`.
    """
    existing = apply.catalog.stores.get(command.name)
    if command.if_exists and (existing is None or existing.dropped):
        return Outcome(Dropped(status="unchanged", seq=apply.seq - 1, existed=False), wrote=False)
    store = apply.catalog.store(command.name)
    for generation in (store.live, store.next):
        if generation is not None:
            _discard(apply.connection, generation)
    if store.name.startswith(TEMPORARY):
        apply.connection.execute("DELETE FROM stores WHERE id = ?", (store.id,))
        return Outcome(Dropped(status="dropped", seq=apply.seq, existed=True), changed_catalog=True)
    apply.connection.execute(
        # The number that a rebuild leaves, done or not, since when it is done is no part of the journal.
        "UPDATE stores SET dropped = 1, generation = ?, next_generation = NULL, updated_at = ? WHERE id = ?",
        (store.filling.number, apply.at, store.id),
    )
    return Outcome(Dropped(status="dropped", seq=apply.seq, existed=True), changed_catalog=True)


def clear(apply: Apply, command: ClearStateStore) -> Outcome:
    """Empty a store by starting a new generation of it (spec: S-13).

    Raises:
        Refused: no such store, or a feed-sourced one.
    """
    store = manual(apply, command.name)
    existed = not tables.is_empty(apply.connection, store.live.table)
    if existed:
        _discard(apply.connection, store.live)
        following = Generation.of(store.id, store.live.number + 1)
        _create(apply.connection, store, following)
        apply.connection.execute("UPDATE stores SET generation = ? WHERE id = ?", (following.number, store.id))
    apply.connection.execute("UPDATE stores SET updated_at = ? WHERE id = ?", (apply.at, store.id))
    result = StoreCleared(seq=apply.seq, existed=existed, replayed=False, freshness=current(apply.seq))
    return Outcome(result, changed_catalog=True)


def rebuild(apply: Apply, command: RebuildStateStore) -> Outcome:
    """Start to materialise a feed-sourced store anew, beside the rows that readers go on seeing (spec: F-07).

    Raises:
        Refused: no such store, or a manual one.
    """
    store = apply.catalog.store(command.name)
    if store.feed is None:
        raise Refused(
            f"store {store.name!r} is not feed-sourced, so there is nothing to rebuild it from",
            "only stores defined FROM FEED can be rebuilt",
            name=store.name,
        )
    if store.next is not None:
        _discard(apply.connection, store.next)
    following = Generation.of(store.id, store.filling.number + 1)
    _create(apply.connection, store, following)
    apply.connection.execute(
        "UPDATE stores SET next_generation = ?, updated_at = ? WHERE id = ?", (following.number, apply.at, store.id)
    )
    existed = not tables.is_empty(apply.connection, store.live.table)
    return Outcome(StoreRebuilt(seq=apply.seq, existed=existed), changed_catalog=True)


def finish_rebuild(connection: sqlite3.Connection, store: Store) -> None:
    """Let readers see the rebuilt rows, and hand the old ones to the sweep."""
    _discard(connection, store.live)
    connection.execute(
        "UPDATE stores SET generation = next_generation, next_generation = NULL WHERE id = ?", (store.id,)
    )
    touch(connection)


def _redefine(apply: Apply, store: Store, command: DefineStateStore) -> Outcome:
    existing = summary(store, building=False)
    note = None
    if existing.source != command.source:
        has = f"feed {store.feed.name!r}" if store.feed else "manual rows"
        if not command.if_not_exists:
            raise Conflict(
                f"store {store.name!r} exists with another source: {has}",
                "choose another store name, or define it with the source it has",
                reason="source",
                name=store.name,
            )
        note = f"the store exists with another source ({has}) and was not changed"
    elif existing.keys != command.named_keys:
        keys = ", ".join(key.name + (" UNIQUE" if key.unique else "") for key in store.keys) or "none"
        note = f"the store exists with other keys ({keys}); keys are fixed at creation and were not changed"
    result = StoreDefined(status="unchanged", seq=apply.seq - 1, store=existing, note=note)
    return Outcome(result, wrote=False)


def _create(connection: sqlite3.Connection, store: Store, generation: Generation) -> None:
    tables.create(connection, generation.table, tuple(key.unique for key in store.keys))
    if store.feed is not None:
        connection.execute(
            "INSERT INTO progress (table_name, cursor, unique_conflicts) VALUES (?, 0, 0)", (generation.table,)
        )


def _discard(connection: sqlite3.Connection, generation: Generation) -> None:
    tables.discard(connection, generation.table)
    connection.execute("DELETE FROM progress WHERE table_name = ?", (generation.table,))
