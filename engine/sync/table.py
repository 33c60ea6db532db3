"""What PostgreSQL says of tables: their columns and primary keys, read in one query (spec: Y-06, Y-23)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dex.engine.sync.tablename import TableName

if TYPE_CHECKING:
    from psycopg import Connection

CHARACTER_TYPES = frozenset({"text", "varchar", "bpchar"})


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column. `type` is PostgreSQL's own short name, such as `int8`, and empty for a type that is not built in.

    `length` is the declared number of characters, `precision` and `scale` those of a numeric or the digits of a
    second; None where the declaration leaves them open. `encoding` is Python's name of the database's character
    set, None where that holds all of Unicode.
    """

    name: str
    type: str
    declared: str
    nullable: bool
    has_default: bool = False
    generated: bool = False
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    encoding: str | None = None

    @property
    def required(self) -> bool:
        """Tell whether an insert that leaves the column out would fail."""
        return not (self.nullable or self.has_default or self.generated)


class TableSchema(msgspec.Struct, frozen=True, kw_only=True):
    """One table as it was when it was read. `key` are the columns of the primary key in its order."""

    name: TableName
    kind: str
    columns: dict[str, Column]
    key: tuple[str, ...]
    key_deferrable: bool = False


def read_tables(connection: "Connection[Any]", names: Sequence[TableName]) -> list[TableSchema | None]:
    """Give each table, None for one that is not there. A name without schema is found along the search path."""
    rows = connection.execute(
        _METADATA, ([name.schema or "" for name in names], [name.table for name in names])
    ).fetchall()
    encoding = _python_encoding(connection.info.parameter_status("server_encoding") or "UTF8")
    by_name: dict[int, list[_Row]] = {}
    for row in rows:
        by_name.setdefault(row[0], []).append(_Row(*row))
    return [_table(by_name[at], encoding) if at in by_name else None for at in range(1, len(names) + 1)]


class _Row(NamedTuple):
    position: int
    schema: str
    table: str
    kind: str
    column: str
    type: str
    declared: str
    modifier: int
    nullable: bool
    has_default: bool
    generated: bool
    key_position: int | None
    deferrable: bool


# Types of people's own, domains included, come with an empty name: no value is written to their columns.
_METADATA = """
SELECT wanted.position::int, n.nspname::text, c.relname::text, c.relkind::text, a.attname::text,
    CASE WHEN tn.nspname = 'pg_catalog' AND t.typtype = 'b' THEN t.typname::text ELSE '' END,
    pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypmod,
    NOT (a.attnotnull OR t.typnotnull), d.oid IS NOT NULL OR t.typdefault IS NOT NULL,
    a.attgenerated <> '' OR a.attidentity <> '',
    CASE WHEN array_position(i.indkey::int2[], a.attnum) < i.indnkeyatts
        THEN array_position(i.indkey::int2[], a.attnum) END,
    NOT coalesce(i.indimmediate, true)
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (schema_name, table_name, position)
JOIN pg_catalog.pg_class c ON c.relname = wanted.table_name AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    AND CASE WHEN wanted.schema_name = '' THEN pg_catalog.pg_table_is_visible(c.oid)
        ELSE n.nspname = wanted.schema_name END
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary
ORDER BY wanted.position, a.attnum
"""

_KINDS = {"r": "table", "p": "partitioned table", "v": "view", "m": "materialized view", "f": "foreign table"}


def _table(rows: list[_Row], encoding: str | None) -> TableSchema:
    first = rows[0]
    key = sorted((row.key_position, row.column) for row in rows if row.key_position is not None)
    return TableSchema(
        name=TableName(first.schema, first.table),
        kind=_KINDS[first.kind],
        columns={row.column: _column(row, encoding) for row in rows},
        key=tuple(column for _, column in key),
        key_deferrable=first.deferrable,
    )


def _column(row: _Row, encoding: str | None) -> Column:
    length = precision = scale = None
    # What follows the first 4 bytes of a type modifier is told in PostgreSQL's src/backend/utils/adt.
    if row.modifier >= 0:
        if row.type in ("varchar", "bpchar"):
            length = row.modifier - 4
        elif row.type == "numeric":
            precision = (row.modifier - 4) >> 16 & 0xFFFF
            scale = ((row.modifier - 4 & 0x7FF) ^ 1024) - 1024
        elif row.type == "timestamptz":
            precision = row.modifier
    return Column(
        name=row.column,
        type=row.type,
        declared=row.declared,
        nullable=row.nullable,
        has_default=row.has_default,
        generated=row.generated,
        length=length,
        precision=precision,
        scale=scale,
        encoding=encoding,
    )


def _python_encoding(server: str) -> str | None:
    import codecs

    if server in ("UTF8", "SQL_ASCII"):
        return None
    for name in (server, server.replace("WIN", "cp"), server.replace("KOI8", "koi8-"), server.replace("_", "-")):
        try:
            return codecs.lookup(name).name
        except LookupError:
            continue
    return None
