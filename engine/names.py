"""Names for shell completion: read straight from the file, without the engine and what it imports.

A completion must answer in a few milliseconds, never fail loudly and never create the database.
"""

import sqlite3

from dex.engine.sqlite.connection import database_path, open_existing

_QUERIES = {
    "store": "SELECT name FROM stores WHERE NOT dropped ORDER BY name",
    "feed": "SELECT name FROM feeds WHERE NOT dropped ORDER BY name",
}


_NAMED_KEYS = (
    "SELECT json_extract(key.value, '$.name') FROM stores, json_each(stores.keys) AS key"
    " WHERE stores.name = ? AND NOT dropped ORDER BY key.id"
)
_FLOW_IDS = "SELECT DISTINCT flow_id FROM runs WHERE flow_id >= ?1 AND flow_id < ?2 ORDER BY flow_id LIMIT 500"
_RUN_IDS = "SELECT run_id FROM runs WHERE flow_id = ? ORDER BY id DESC LIMIT 50"
_FLOW_TYPE = "SELECT type FROM runs WHERE flow_id = ? ORDER BY id DESC LIMIT 1"
_LAST_CHARACTER = "\U0010ffff"


def list_names(data_dir: str, kind: str) -> list[str]:
    """Give the names of all live objects of a kind, `store` or `feed`; none where the file cannot be read."""
    return _names(data_dir, _QUERIES[kind])


def named_keys(data_dir: str, store: str) -> list[str]:
    """Give the named keys of a live store, in the order of their declaration; none where there is no such store."""
    return _names(data_dir, _NAMED_KEYS, store)


def node_names(_data_dir: str) -> list[str]:
    """Give none: a data directory is no cluster."""
    return []


def flow_ids(data_dir: str, prefix: str) -> list[str]:
    """Give the Flow IDs that begin with a prefix, of many the first."""
    return _names(data_dir, _FLOW_IDS, prefix, prefix + _LAST_CHARACTER)


def run_ids(data_dir: str, flow_id: str) -> list[str]:
    """Give the newest runs of a Flow."""
    return _names(data_dir, _RUN_IDS, flow_id)


def flow_type(data_dir: str, flow_id: str) -> str | None:
    """Give the type of a Flow's latest run."""
    return next(iter(_names(data_dir, _FLOW_TYPE, flow_id)), None)


def _names(data_dir: str, query: str, *parameters: str) -> list[str]:
    try:
        connection = open_existing(database_path(data_dir))
        if connection is None:
            return []
        try:
            return [name for (name,) in connection.execute(query, parameters)]
        finally:
            connection.close()
    except sqlite3.Error:
        return []
