"""The fixed tables, in SQL: what a migration runs, and what stands in for a file that is not there yet."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

TABLES = ("tables.sql", "flows.sql", "purged.sql", "cluster.sql", "counts.sql")


def statements(name: str) -> Iterator[str]:
    """Give the statements of a script, without its comments."""
    script = Path(__file__).with_name(name).read_text(encoding="utf-8")
    lines = (line for line in script.splitlines() if not line.startswith("--"))
    yield from (statement for statement in "\n".join(lines).split(";") if statement.strip())


def open_empty() -> sqlite3.Connection:
    """Give an empty database in memory, so that reading what is not there answers without making it."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for name in TABLES:
        for statement in statements(name):
            connection.execute(statement)
    return connection
