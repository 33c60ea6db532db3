"""Searching runs: by type, status and values of plain attributes, the newest first (spec: FL-12)."""

import sqlite3
from typing import Any

from dex.engine.flows.state import runs
from dex.engine.flows.state.runs import Run


def search(
    connection: sqlite3.Connection,
    *,
    type_: str | None,
    status: str | None,
    scalars: dict[str, Any],
    below: int | None,
    limit: int,
) -> list[Run]:
    """Give up to `limit` runs with an id below `below`. `scalars` are attribute values as they are compared."""
    conditions = ["TRUE"]
    parameters: list[Any] = []
    for column, value in (("type", type_), ("status", status)):
        if value is not None:
            conditions.append(f"{column} = ?")
            parameters.append(value)
    for key, scalar in scalars.items():
        conditions.append("id IN (SELECT run FROM attributes WHERE key = ? AND scalar = ?)")
        parameters.extend((key, scalar))
    if below is not None:
        conditions.append("id < ?")
        parameters.append(below)
    condition = " AND ".join(conditions) + " ORDER BY id DESC LIMIT ?"
    return runs.select(connection, condition, (*parameters, limit))


def types(connection: sqlite3.Connection) -> set[str]:
    """Give the types of all runs there are."""
    found: set[str] = set()
    # From one type to the next by the index; DISTINCT would read an entry for each run.
    following = "SELECT min(type) FROM runs WHERE type > ?"
    type_ = ""
    while (type_ := connection.execute(following, (type_,)).fetchone()[0]) is not None:
        found.add(type_)
    return found


def counts(connection: sqlite3.Connection, run: int) -> tuple[int, int, int, int]:
    """Count a run's step executions, those that are not over, its events and its attributes."""
    query = (
        "SELECT (SELECT count(*) FROM steps WHERE run = ?1),"
        " (SELECT count(*) FROM steps WHERE run = ?1 AND ended_event IS NULL),"
        " (SELECT max(number) FROM history WHERE run = ?1), (SELECT count(*) FROM attributes WHERE run = ?1)"
    )
    steps, open_steps, events, attributes = connection.execute(query, (run,)).fetchone()
    return steps, open_steps, events or 0, attributes
