"""Applying committed messages to a node's file: the same function as embedded, at the positions of the stream."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from dex.engine import catalog, journal, machine
from dex.engine.apply import Apply
from dex.engine.cluster.stream import Committed
from dex.engine.owner import check_epoch
from dex.wcl.errors import DexError, InvalidCommand

NOTHING = journal.encode_record(journal.Nothing())


def apply_messages(
    connection: sqlite3.Connection, known: catalog.Catalog, head: journal.Head, messages: Sequence[Committed]
) -> list[Any | DexError]:
    """Apply messages inside the current transaction; give what became of each.

    A message that is refused or changes nothing is journaled as nothing, so that every position of the stream is one
    of the file. Messages up to `head` were applied before; for them it gives None.
    """
    surroundings = Apply(connection, known, head.seq, head.at)
    total = head.total
    verdicts: list[Any | DexError] = []
    rows: list[journal.Row] = []
    for message in messages:
        if message.seq <= head.seq:
            verdicts.append(None)
            continue
        surroundings.seq = message.seq
        surroundings.at = max(message.at, surroundings.at)
        verdict, record = _apply(surroundings, message)
        total += len(record)
        rows.append((message.seq, surroundings.at, total, record))
        verdicts.append(verdict)
    journal.write(connection, rows)
    return verdicts


def _apply(surroundings: Apply, message: Committed) -> tuple[Any | DexError, bytes]:
    """Apply one message; give its verdict and what is journaled of it."""
    record = message.record
    try:
        if message.epoch:
            check_epoch(surroundings.connection, message.epoch)
        outcome = machine.apply(surroundings, _mutation(record), record)
    except DexError as error:
        return error, NOTHING
    if outcome.changed_catalog:
        catalog.touch(surroundings.connection)
        surroundings.catalog = catalog.load(surroundings.connection)
    return outcome.result, record if outcome.wrote else NOTHING


def _mutation(record: bytes) -> Any:
    """Give the mutation of a record.

    Raises:
        InvalidCommand: a node of another version wrote it.
    """
    try:
        return journal.decode_record(record)
    except Exception as error:
        raise InvalidCommand("the journal has a record that this version does not know", "upgrade this node") from error
