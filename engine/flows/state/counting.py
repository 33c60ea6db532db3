"""Counting runs by type and status, whatever their number (spec: K-01)."""

import sqlite3
from typing import get_args

from dex.wcl.commands.flowresults import Status

# From one to the next by the index: SQLite's own DISTINCT would read every run.
_TYPES = """
WITH RECURSIVE types (type) AS (
  SELECT min(type) FROM runs
  UNION ALL
  SELECT (SELECT min(type) FROM runs WHERE type > types.type) FROM types WHERE type IS NOT NULL
)
SELECT type FROM types WHERE type IS NOT NULL LIMIT ?
"""
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM runs WHERE type = ? AND status = ? LIMIT ?)"


def by_type_and_status(connection: sqlite3.Connection, types: int, most: int) -> list[tuple[str, str, int]]:
    """Give type, status and number of runs of up to some types, in order of them; counting ends at `most` each."""
    found = [type_ for (type_,) in connection.execute(_TYPES, (types,))]
    kinds = [(type_, status) for type_ in found for status in get_args(Status)]
    counts = [(*kind, connection.execute(_COUNT, (*kind, most)).fetchone()[0]) for kind in kinds]
    return [count for count in counts if count[-1]]
