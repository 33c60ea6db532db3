"""Names for shell completion: read straight from the file, without the engine and what it imports.

A completion must answer in a few milliseconds, never fail loudly and never create the database.
"""

import sqlite3

from dex.engine.sqlite.connection import database_path, open_existing

_QUERIES = {
    "store": "SELECT name FROM stores WHERE NOT dropped ORDER BY name",
    "feed": "SELECT name FROM feeds WHERE NOT dropped ORDER BY name",
}


def list_names(data_dir: str, kind: str) -> list[str]:
    """Give the names of all live objects of a kind, `store` or `feed`; none where the file cannot be read."""
    try:
        connection = open_existing(database_path(data_dir))
        if connection is None:
            return []
        try:
            return [name for (name,) in connection.execute(_QUERIES[kind])]
        finally:
            connection.close()
    except sqlite3.Error:
        return []
