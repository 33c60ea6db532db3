"""The state of a file as plain values: what two files must share to be called equal."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

_NOT_STATE = {
    "_sqlite_migrations",  # when each migration was made
    "catalog",  # a stamp for caches: it counts the passes of housekeeping too
    "sqlite_sequence",
}


def state_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Give every table with its rows in order, and check the file on the way."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
            for name in names
            if name not in _NOT_STATE
        }
