"""SQL of a transaction: the rows of a plan as one statement, under the fencing row (spec: Y-13, Y-14, Y-16).

Rows of one shape travel together as one jsonb parameter, so that a statement's text depends on tables and columns
only and PostgreSQL keeps its plan. Identifiers are quoted, values are always parameters.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from psycopg import sql

from dex.engine.sync.planning import Row
from dex.engine.sync.table import Column, TableSchema
from dex.engine.sync.tablename import TableName

# json and jsonb would be parsed as part of the parameter and lose how they were written.
_TRAVEL_AS_TEXT = frozenset({"json", "jsonb"})


class Shape(NamedTuple):
    """What rows have in common, so that one statement writes them all."""

    table: TableName
    columns: tuple[str, ...]
    whole: bool
    delete: bool


class Group(NamedTuple):
    """Rows of one shape and their table."""

    shape: Shape
    table: TableSchema
    rows: list[Row]

    def parameter(self) -> str:
        """Give the rows as a JSON array, each column under its position."""
        table = [
            {str(at): text for at, text in enumerate((*row.key.values(), *row.values.values()))} for row in self.rows
        ]
        return json.dumps(table, ensure_ascii=False)


def group(rows: Iterable[Row]) -> list[Group]:
    """Put rows of one shape together."""
    groups: dict[Shape, Group] = {}
    for row in rows:
        shape = Shape(row.table.name, (*row.key, *row.values), row.whole, row.delete)
        groups.setdefault(shape, Group(shape, row.table, [])).rows.append(row)
    return list(groups.values())


def fence_sql(fencing: TableName) -> str:
    """Give the statement that raises the fencing row ($1 store, $2 cluster, $3 scope) to an epoch ($4).

    It returns a row, unless a newer owner has raised the token above the epoch: that of this scope, which is locked
    and so known to the last moment, or that of any other, as it was when the statement began.
    """
    return (
        f"INSERT INTO {quoted(*fencing)} AS f (store_name, cluster_id, scope, fencing_token, updated_at)"
        " SELECT $1::pg_catalog.text, $2::pg_catalog.text, $3::pg_catalog.text, $4::pg_catalog.int8,"
        f" pg_catalog.clock_timestamp() WHERE NOT EXISTS (SELECT FROM {quoted(*fencing)}"
        " WHERE store_name = $1 AND cluster_id = $2 AND fencing_token > $4)"
        " ON CONFLICT (store_name, cluster_id, scope) DO UPDATE"
        " SET fencing_token = EXCLUDED.fencing_token, updated_at = EXCLUDED.updated_at"
        " WHERE f.fencing_token <= EXCLUDED.fencing_token RETURNING 1"
    )


def token_sql(fencing: TableName) -> str:
    """Give the query for the highest token of a store ($1) in a cluster ($2), NULL without one."""
    return f"SELECT pg_catalog.max(fencing_token) FROM {quoted(*fencing)} WHERE store_name = $1 AND cluster_id = $2"


def fenced_sql(fencing: TableName, groups: list[Group]) -> str:
    """Give one statement that raises the fencing row and, if it may, writes the rows ($5…).

    It returns how many fencing rows it raised: 1, or 0 when a newer owner rejects the write.
    """
    writes = [f"w{at} AS ({_write(each, f'fence, {_records(each, at + 5)}')})" for at, each in enumerate(groups)]
    return f"WITH fence AS ({fence_sql(fencing)}), {', '.join(writes)} SELECT pg_catalog.count(*) FROM fence"


def unfenced_sql(groups: list[Group]) -> str:
    """Give one statement that writes the rows ($1…), for a transaction that holds the fencing row already."""
    writes = [f"w{at} AS ({_write(each, _records(each, at + 1))})" for at, each in enumerate(groups)]
    return f"WITH {', '.join(writes)} SELECT 1"


@lru_cache(maxsize=4096)
def quoted(*names: str | None) -> str:
    """Give an identifier, or one qualified by a schema, quoted."""
    return sql.Identifier(*(name for name in names if name is not None)).as_string(None)


def _write(each: Group, source: str) -> str:
    return _delete(each, source) if each.shape.delete else _upsert(each, source)


def _upsert(each: Group, source: str) -> str:
    table, columns = each.table, each.shape.columns
    names = ", ".join(quoted(column) for column in columns)
    values = ", ".join(_value(table.columns[column], at) for at, column in enumerate(columns))
    key = ", ".join(quoted(column) for column in table.key)
    settings = [f"{quoted(column)} = EXCLUDED.{quoted(column)}" for column in columns if column not in table.key]
    if each.shape.whole:
        settings += [
            f"{quoted(name)} = DEFAULT"
            for name, column in table.columns.items()
            if name not in columns and not column.generated
        ]
    action = f"UPDATE SET {', '.join(settings)}" if settings else "NOTHING"
    return f"INSERT INTO {quoted(*table.name)} ({names}) SELECT {values} FROM {source} ON CONFLICT ({key}) DO {action}"


def _delete(each: Group, source: str) -> str:
    conditions = " AND ".join(
        f"t.{quoted(column)} = {_value(each.table.columns[column], at)}" for at, column in enumerate(each.shape.columns)
    )
    return f"DELETE FROM {quoted(*each.table.name)} AS t USING {source} WHERE {conditions}"


def _records(each: Group, parameter: int) -> str:
    columns = (each.table.columns[column] for column in each.shape.columns)
    types = ", ".join(f'"{at}" pg_catalog.{_travelling_type(column)}' for at, column in enumerate(columns))
    return f"pg_catalog.jsonb_to_recordset(${parameter}::pg_catalog.jsonb) AS r ({types})"


def _travelling_type(column: Column) -> str:
    return "text" if column.type in _TRAVEL_AS_TEXT else column.type


def _value(column: Column, at: int) -> str:
    return f'r."{at}"::pg_catalog.{column.type}' if column.type in _TRAVEL_AS_TEXT else f'r."{at}"'
