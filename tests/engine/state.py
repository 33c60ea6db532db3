"""The state of a file as plain values: what two files must share to be called equal."""

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

_NOT_STATE = {
    "_sqlite_migrations",  # when each migration was made
    "catalog",  # a stamp for caches: it counts the passes of housekeeping too
    "sqlite_sequence",
}


def state_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Give every table with its rows in order, all as of one moment, and check the file on the way."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
            for name in names
            if name not in _NOT_STATE
        }


_OF_ONE_NODE = {
    "journal",  # how much of it a node keeps is its own matter
    "sync_attempts",
    "sync_lease",
}


def digest_of(path: Path) -> tuple[int, str]:
    """Give the position of a settled partition of a cluster, and a digest of what all nodes must share there."""
    state = state_of(path)
    position = max((row[0] for row in state["journal"]), default=0)
    shared = sorted((name, rows) for name, rows in state.items() if name not in _OF_ONE_NODE)
    return position, sha256(repr(shared).encode()).hexdigest()
