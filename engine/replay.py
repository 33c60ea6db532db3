"""Replaying: a journal applied to an empty file gives the same state, value for value.

Each entry is applied at the position and time it was recorded with, by the same apply functions that wrote it.
"""

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path

from dex.engine import catalog, journal, machine
from dex.engine.apply import Apply
from dex.engine.sqlite.connection import begin_immediate, database_path, open_database
from dex.engine.sqlite.errors import translated
from dex.wcl.errors import DexError, Refused

_ENTRIES = 500
_TIMEOUT = 60.0


def replay(source: Path, target_dir: str | os.PathLike[str]) -> int:
    """Apply the whole journal of the file `source` in an empty data directory; give the last position.

    Housekeeping is not journaled: settle both engines before comparing what no reader sees.

    Raises:
        Refused: the target is not empty, the journal's beginning was trimmed, or an entry does not fit the state.
    """
    target = database_path(target_dir)
    with translated(source), closing(open_database(source, _TIMEOUT)) as origin:
        entries = journal.read(origin)
        with translated(target), closing(open_database(target, _TIMEOUT)) as copy:
            seq = journal.last_seq(copy)
            if seq:
                raise Refused(f"{target} has a journal already", "replay into an empty data directory", seq=seq)
            while some := list(islice(entries, _ENTRIES)):
                begin_immediate(copy, _TIMEOUT, target)
                apply_entries(copy, some)
                copy.execute("COMMIT")
            return journal.last_seq(copy)


def apply_entries(connection: sqlite3.Connection, entries: Iterable[journal.Entry]) -> None:
    """Apply entries that follow the journal's end, and journal them, inside the current transaction.

    Raises:
        Refused: an entry is missing before one, or one does not fit the state; roll the transaction back.
    """
    surroundings = Apply(connection, catalog.load(connection), journal.last_seq(connection) + 1, 0)
    (total,) = connection.execute("SELECT ifnull(max(total), 0) FROM journal").fetchone()
    for entry in entries:
        if entry.seq != surroundings.seq:
            raise _unfit(entry, f"the next position is {surroundings.seq}")
        surroundings.at = entry.at
        try:
            outcome = machine.apply(surroundings, entry.mutation, entry.record)
        except DexError as error:
            raise _unfit(entry, error.message) from error
        if not outcome.wrote:
            raise _unfit(entry, "it changes nothing")
        if outcome.changed_catalog:
            catalog.touch(connection)
            surroundings.catalog = catalog.load(connection)
        total += len(entry.record)
        journal.write(connection, [(entry.seq, entry.at, total, entry.record)])
        surroundings.seq += 1


def _unfit(entry: journal.Entry, why: str) -> Refused:
    return Refused(
        f"entry {entry.seq} of the journal cannot be replayed here: {why}",
        "replay a whole journal, or restore a snapshot first",
        seq=entry.seq,
    )
