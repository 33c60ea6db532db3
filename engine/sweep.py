"""Emptying what nobody reads any more, a few rows at a time, so that a put never waits long (spec: S-13, S-14)."""

import sqlite3
import time

from dex.engine.catalog import Catalog, touch

_ROWS = 16


def sweep(connection: sqlite3.Connection, catalog: Catalog, seconds: float) -> bool:
    """Empty the oldest discarded table for about `seconds`, and drop it once it is empty; tell whether more remains."""
    if not catalog.garbage:
        return False
    table = catalog.garbage[0]
    deadline = time.monotonic() + seconds
    delete = f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} ORDER BY rowid LIMIT {_ROWS})"
    while connection.execute(delete).rowcount == _ROWS:
        if time.monotonic() >= deadline:
            return True
    connection.execute(f"DROP TABLE {table}")
    connection.execute("DELETE FROM garbage WHERE table_name = ?", (table,))
    touch(connection)
    return len(catalog.garbage) > 1
