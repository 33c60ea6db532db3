"""The grants that writing needs, for people who check a store; start-up does not look at them (spec: Y-25)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dex.engine.sync.checking import StoreSchema

if TYPE_CHECKING:
    from psycopg import Connection

# The role may have grants of columns alone, which is enough where they are the ones that are written.
_LACKING = """
SELECT wanted.position::int, coalesce(string_agg(needed.privilege, ', ' ORDER BY needed.at), ''),
    pg_catalog.has_schema_privilege(n.oid, 'USAGE'), current_user::text
FROM unnest($1::text[], $2::text[], $3::bool[]) WITH ORDINALITY AS wanted (schema_name, table_name, deletes, position)
JOIN pg_catalog.pg_namespace n ON n.nspname = wanted.schema_name
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = wanted.table_name
LEFT JOIN (VALUES (1, 'SELECT'), (2, 'INSERT'), (3, 'UPDATE'), (4, 'DELETE')) AS needed (at, privilege)
    ON CASE needed.privilege
        WHEN 'DELETE' THEN wanted.deletes AND NOT pg_catalog.has_table_privilege(c.oid, 'DELETE')
        ELSE NOT pg_catalog.has_any_column_privilege(c.oid, needed.privilege) END
GROUP BY wanted.position, n.oid
ORDER BY wanted.position
"""


def lacking_grants(connection: "Connection[Any]", schema: StoreSchema) -> list[str]:
    """Tell, a line for each table, what the role of a connection may not do and writing needs."""
    tables = [schema.main, *schema.maps.values(), schema.fencing]
    deletes = [table in schema.maps.values() for table in tables]
    names = [table.name for table in tables]
    found = connection.execute(_LACKING, ([name.schema for name in names], [name.table for name in names], deletes))
    faults: list[str] = []
    for position, privileges, may_use_schema, role in found.fetchall():
        name = names[position - 1]
        lacks: Sequence[str] = [
            *([] if may_use_schema else [f"USAGE on the schema {name.schema}"]),
            *([f"{privileges} on {name}"] if privileges else []),
        ]
        if lacks:
            faults.append(f"the role {role} lacks {' and '.join(lacks)}")
    return faults
