"""How a data directory is: whether it can be written, and how much there is of it (spec: K-01)."""

import sqlite3
from pathlib import Path
from typing import NamedTuple

from dex.engine.catalog import Catalog
from dex.engine.journal import Head
from dex.engine.reader import Snapshot
from dex.engine.sqlite.connection import SCHEMA_VERSION
from dex.wcl.errors import FailedPrecondition


class Vitals(NamedTuple):
    """Commits that this process made, bytes of the file with what is not yet folded into it, and of the journal."""

    commits: int
    database_bytes: int
    journal_bytes: int


def write_nothing(connection: sqlite3.Connection, _catalog: Catalog, _head: Head) -> bool:
    """Make a commit write a page that stays as it is: a pass for `Writer.run`.

    Raises:
        FailedPrecondition: a newer dex has migrated the file meanwhile.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        raise FailedPrecondition(
            f"the file has schema {version}, and this dex knows {SCHEMA_VERSION}", "restart with the newer dex"
        )
    connection.execute(f"PRAGMA user_version={version}")
    return False


def database_bytes(path: Path) -> int:
    """Give the bytes of the file and of its write-ahead log."""
    return sum(part.stat().st_size for part in (path, Path(f"{path}-wal")) if part.exists())


def journal_bytes(snapshot: Snapshot) -> int:
    """Give the bytes of the journal's records, but for the oldest, which the next is counted from."""
    first, last = snapshot.connection.execute(
        "SELECT (SELECT total FROM journal ORDER BY seq LIMIT 1), (SELECT total FROM journal ORDER BY seq DESC LIMIT 1)"
    ).fetchone()
    return (last or 0) - (first or 0)
