"""Emptying what nobody reads any more, a few rows at a time, so that a put never waits long.

These are the tables of stores and feeds (spec: S-13, S-14), and what purged runs of Flows held (spec: FL-16).
"""

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


def sweep_purged(connection: sqlite3.Connection, seconds: float) -> bool:
    """Erase what purged runs held for about `seconds`; tell whether more remains."""
    if connection.execute("SELECT 1 FROM purged LIMIT 1").fetchone() is None:
        return False
    from dex.engine.flows.state.purging import sweep as sweep_runs

    return sweep_runs(connection, seconds)
