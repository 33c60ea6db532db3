"""The table of one generation of a store: one column for each named key, with an ordinary index.

Measured against one shared table of postings this is 1.2-1.5 times faster to write, and SQLite needs no
statistics to choose the right index.
"""

import sqlite3
from functools import lru_cache
from typing import NamedTuple

from dex.engine.catalog import Generation, Store
from dex.engine.postings import NULL

_NULL_LITERAL = f"x'{NULL.hex()}'"


class RowSql(NamedTuple):
    """The statements for one table of rows.

    `put` and `insert` take the row's id, key, payload and one column per named key. The id is the position of the
    mutation that first wrote the key; `put` gives it back, which tells whether it made a new row.
    """

    put: str
    insert: str
    delete: str
    get: str
    page: str
    holders: tuple[str | None, ...]
    find: tuple[str, ...]


@lru_cache(maxsize=1024)
def statements(table: str, uniques: tuple[bool, ...]) -> RowSql:
    """Give the statements for a table whose named keys are unique or not, in the order of declaration.

    `get` and `find` also give the catalog's version and the journal's last position, in the same snapshot; `holders`
    gives the other row that has claimed a unique value, `find` the rows that carry a value.
    """
    columns = [f"n{i}" for i in range(len(uniques))]
    listed = ", ".join(["key", "payload", *columns])
    numbered = ", ".join(f"?{i + 1}" for i in range(len(columns) + 3))
    assigned = ", ".join(f"{column} = excluded.{column}" for column in ["payload", *columns])
    seen = "c.version, (SELECT max(seq) FROM journal)"
    read = ", ".join(f"r.{column}" for column in ["key", "payload", *columns])
    conditions = [_claimed(column) if unique else "TRUE" for column, unique in zip(columns, uniques, strict=True)]
    insert = f"INSERT INTO {table} (id, {listed}) VALUES ({numbered})"
    return RowSql(
        put=f"{insert} ON CONFLICT (key) DO UPDATE SET {assigned} RETURNING id",
        insert=insert,
        delete=f"DELETE FROM {table} WHERE key = ?1",
        get=f"SELECT {seen}, {read} FROM catalog c LEFT JOIN {table} r ON r.key = ?1",
        page=f"SELECT {listed} FROM {table} WHERE key > ?1 ORDER BY key LIMIT ?2",
        holders=tuple(
            f"SELECT key FROM {table} WHERE {column} = ?1 AND {condition} AND key <> ?2" if unique else None
            for column, condition, unique in zip(columns, conditions, uniques, strict=True)
        ),
        find=tuple(
            f"SELECT {seen}, {read} FROM catalog c LEFT JOIN {table} r"
            f" ON r.{column} = ?1 AND {condition} ORDER BY r.key"
            for column, condition in zip(columns, conditions, strict=True)
        ),
    )


def sql(store: Store, generation: Generation) -> RowSql:
    """Give the statements for one generation of a store."""
    return statements(generation.table, store.uniques)


def create(connection: sqlite3.Connection, table: str, uniques: tuple[bool, ...]) -> None:
    """Make the table and its indexes. A null or absent value is never a claim, so it is not in a unique index."""
    columns = "".join(f", n{i}" for i in range(len(uniques)))
    connection.execute(
        f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, payload BLOB NOT NULL{columns})"
    )
    for i, unique in enumerate(uniques):
        kind, condition = ("UNIQUE INDEX", _claimed(f"n{i}")) if unique else ("INDEX", f"n{i} IS NOT NULL")
        connection.execute(f"CREATE {kind} {table}_n{i} ON {table} (n{i}) WHERE {condition}")


def discard(connection: sqlite3.Connection, table: str) -> None:
    """Hand a table that nobody reads any more to the sweep."""
    connection.execute("INSERT INTO garbage (table_name) VALUES (?)", (table,))


def is_empty(connection: sqlite3.Connection, table: str) -> bool:
    """Tell whether a table has no row."""
    return connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is None


def _claimed(column: str) -> str:
    """The condition of a unique index; a query must repeat it for SQLite to use the index."""
    return f"{column} <> {_NULL_LITERAL}"
