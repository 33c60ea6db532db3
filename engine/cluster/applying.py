"""Applying committed messages to a node's file: the same function as embedded, at the positions of the stream."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from dex.engine import catalog, journal, machine
from dex.engine.apply import Apply
from dex.engine.cluster.continuity import mark_of
from dex.engine.cluster.stream import Committed, unknown
from dex.engine.owner import check_epoch
from dex.engine.stores import rows
from dex.wcl.commands import PutRow
from dex.wcl.errors import DexError

NOTHING = journal.encode_record(journal.Nothing())


def apply_messages(
    connection: sqlite3.Connection,
    known: catalog.Catalog,
    head: journal.Head,
    messages: Sequence[Committed],
    stream: str,
) -> list[Any | DexError]:
    """Apply messages inside the current transaction; give what became of each.

    A message that is refused or changes nothing is journaled as nothing, so that every position of the stream is one
    of the file. Messages up to `head` were applied before; for them it gives None.

    Raises:
        FailedPrecondition: a node of another version wrote one of them.
    """
    surroundings = Apply(connection, known, head.seq, head.at)
    known_before = sum(1 for message in messages if message.seq <= head.seq)
    new = messages[known_before:]
    mutations = [_decoded(message, stream) for message in new]
    verdicts: list[Any | DexError] = [None] * known_before
    entries: list[journal.MarkedRow] = []
    place, total = 0, head.total
    while place < len(new):
        end = _end_of_puts(new, mutations, place)
        surroundings.seq = new[place].seq
        puts = rows.put_new(surroundings, mutations[place:end])
        for index in range(place, end):
            message = new[index]
            surroundings.seq = message.seq
            surroundings.at = max(message.at, surroundings.at)
            if puts is None:
                verdict, record = _apply(surroundings, message, mutations[index])
            else:
                verdict, record = puts[index - place], message.record
            total += len(record)
            entries.append((message.seq, surroundings.at, total, record, mark_of(message.message_id)))
            verdicts.append(verdict)
        place = end
    journal.write_marked(connection, entries)
    return verdicts


def _end_of_puts(messages: Sequence[Committed], mutations: Sequence[Any], begin: int) -> int:
    """Give the end of a run of plain puts to one store, which may go in together; that of anything else is the next."""
    end = begin
    first = mutations[begin]
    while end < len(messages) and type(mutations[end]) is PutRow and mutations[end].mutation_id is None:
        if messages[end].epoch or mutations[end].store != first.store:
            break
        end += 1
    return max(end, begin + 1)


def _apply(surroundings: Apply, message: Committed, mutation: Any) -> tuple[Any | DexError, bytes]:
    """Apply one message; give its verdict and what is journaled of it."""
    record = message.record
    try:
        if message.epoch:
            check_epoch(surroundings.connection, message.epoch)
        outcome = machine.apply(surroundings, mutation, record)
    except DexError as error:
        return error, NOTHING
    if outcome.changed_catalog:
        catalog.touch(surroundings.connection)
        surroundings.catalog = catalog.load(surroundings.connection)
    return outcome.result, record if outcome.wrote else NOTHING


def _decoded(message: Committed, stream: str) -> Any:
    """Give the mutation of a message.

    Raises:
        FailedPrecondition: as `unknown`.
    """
    if not message.record:
        return journal.Nothing()
    try:
        return journal.decode_record(message.record)
    except msgspec.MsgspecError as error:
        raise unknown(stream, message.seq) from error
