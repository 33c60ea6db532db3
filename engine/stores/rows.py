"""Writing rows: puts and deletes; a unique value goes to the first commit in journal order (spec: S-01, S-06)."""

import sqlite3
from collections.abc import Sequence
from typing import Any, TypeGuard

from dex.engine.apply import Apply, Outcome
from dex.engine.catalog import Store
from dex.engine.freshness import current
from dex.engine.postings import NULL, to_column
from dex.engine.stores.keys import undeclared
from dex.engine.stores.tables import RowSql, sql
from dex.wcl.commands import Command, DeleteRow, PutRow, RowDeleted, RowWritten
from dex.wcl.errors import Conflict, DexError, Refused
from dex.wcl.shown import shown
from dex.wcl.values import blob_to_json, value_to_json

_MANY = 16


def put(apply: Apply, command: PutRow) -> Outcome:
    """Write the whole row.

    Raises:
        Refused: no such store, a feed-sourced one, or an undeclared named key; nothing was written.
        Conflict: another row has a unique value (`reason` unique); nothing was written.
    """
    store = manual(apply, command.store)
    columns = _columns(store, command.named)
    statements = sql(store, store.live)
    try:
        row = (apply.seq, command.key, command.payload, *columns)
        ((first_seq,),) = apply.connection.execute(statements.put, row)
    except sqlite3.IntegrityError as error:
        raise _unique_conflict(apply.connection, store, statements, command, columns) from error
    replaced = first_seq != apply.seq
    return Outcome(RowWritten(seq=apply.seq, replaced=replaced, replayed=False, freshness=current(apply.seq)))


def put_new(apply: Apply, commands: Sequence[Command[Any]]) -> list[RowWritten] | None:
    """Write many rows in one call of SQLite, which is what makes an import fast.

    Gives None, with nothing written, unless all are plain puts of new rows to one store that lose no claim; then
    each is to be applied by itself.
    """
    if len(commands) < _MANY or not _same_store(commands):
        return None
    connection = apply.connection
    connection.execute("SAVEPOINT put_new")
    try:
        store = manual(apply, commands[0].store)
        connection.executemany(
            sql(store, store.live).insert,
            [
                (seq, command.key, command.payload, *_columns(store, command.named))
                for seq, command in enumerate(commands, apply.seq)
            ],
        )
    except (DexError, sqlite3.IntegrityError):
        connection.execute("ROLLBACK TO put_new")
        connection.execute("RELEASE put_new")
        return None
    connection.execute("RELEASE put_new")
    return [
        RowWritten(seq=seq, replaced=False, replayed=False, freshness=current(seq))
        for seq in range(apply.seq, apply.seq + len(commands))
    ]


def _same_store(commands: Sequence[Command[Any]]) -> TypeGuard[Sequence[PutRow]]:
    name = getattr(commands[0], "store", None)
    return all(type(c) is PutRow and c.mutation_id is None and c.store == name for c in commands)


def delete(apply: Apply, command: DeleteRow) -> Outcome:
    """Remove the row, if there is one.

    Raises:
        Refused: no such store, or a feed-sourced one.
    """
    store = manual(apply, command.store)
    existed = apply.connection.execute(sql(store, store.live).delete, (command.key,)).rowcount > 0
    return Outcome(RowDeleted(seq=apply.seq, existed=existed, replayed=False, freshness=current(apply.seq)))


def manual(apply: Apply, name: str) -> Store:
    """Give a live store whose rows callers write.

    Raises:
        Refused: there is none, or a Feed is its only writer (spec: F-05).
    """
    store = apply.catalog.store(name)
    if store.feed is not None:
        raise Refused(
            f"store {name!r} materialises feed {store.feed.name!r} and takes no writes of its own",
            f"append to feed {store.feed.name!r}, or rebuild the store from it",
            name=name,
            reason="feed_sourced",
        )
    return store


def _columns(store: Store, named: dict[str, Any]) -> list[Any]:
    """Give one column value per declared key, None where it is absent.

    Raises:
        Refused: `named` has a key that is not declared (spec: S-05).
    """
    columns: list[Any] = []
    used = 0
    for name in store.names:
        if name in named:
            value = named[name]
            columns.append(value if value.__class__ is str else to_column(value))
            used += 1
        else:
            columns.append(None)
    if used < len(named):
        raise undeclared(store, next(name for name in named if name not in store.names))
    return columns


def _unique_conflict(
    connection: sqlite3.Connection, store: Store, statements: RowSql, command: PutRow, columns: list[Any]
) -> Conflict:
    for key, holder_sql, column in zip(store.keys, statements.holders, columns, strict=True):
        if holder_sql is None or column is None or column == NULL:
            continue
        holder = connection.execute(holder_sql, (column, command.key)).fetchone()
        if holder is not None:
            held_by, value = blob_to_json(holder[0]), value_to_json(command.named[key.name])
            return Conflict(
                f"store {store.name!r}: row {shown(held_by)} already has {key.name} = {shown(value)}, which is unique",
                "change or delete that row first, or put another value",
                reason="unique",
                store=store.name,
                named_key=key.name,
                value=value,
                holder=held_by,
            )
    raise AssertionError("SQLite reported a unique value taken, and no row has it")
