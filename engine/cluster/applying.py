"""Applying committed messages to a node's file: the same function as embedded, each record at a position of its own."""

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from dex.engine import catalog, journal, machine
from dex.engine.apply import Apply
from dex.engine.cluster.continuity import mark_of, reached
from dex.engine.cluster.messages import Committed, unknown
from dex.engine.owner import Owner, OwnerChanged, check_epoch, owner
from dex.engine.stores import rows
from dex.wcl.commands import PutRow
from dex.wcl.errors import DexError

NOTHING = journal.encode_record(journal.Nothing())


class Applied(NamedTuple):
    """What became of messages: the verdicts of each one's records, none where it was applied before.

    `position` is the last one of the journal, and `owner` who owns the partition now, None where that did not change.
    """

    verdicts: list[list[Any | DexError]]
    position: int
    owner: Owner | None


class _Step(NamedTuple):
    """A record, its epoch, what it says, and the message that it is in."""

    message: Committed
    record: bytes
    epoch: int
    mutation: Any


def apply_messages(
    connection: sqlite3.Connection,
    known: catalog.Catalog,
    head: journal.Head,
    messages: Sequence[Committed],
    stream: str,
) -> Applied:
    """Apply messages inside the current transaction.

    A record that is refused or changes nothing is journaled as nothing, so that every record of the stream has a
    position in the file, and each message at least one.

    Raises:
        FailedPrecondition: a node of another version wrote one of them.
    """
    before = reached(connection).seq
    steps = [step for message in messages if message.seq > before for step in _steps(message, stream)]
    surroundings = Apply(connection, known, head.seq + 1, head.at)
    found: list[Any | DexError] = []
    entries: list[journal.MarkedRow] = []
    total = head.total
    while len(found) < len(steps):
        run = steps[len(found) : _end_of_puts(steps, len(found))]
        puts = rows.put_new(surroundings, [step.mutation for step in run])
        for place, step in enumerate(run):
            surroundings.at = max(step.message.at, surroundings.at)
            verdict, record = _apply(surroundings, step) if puts is None else (puts[place], step.record)
            total += len(record)
            message = step.message
            row = (surroundings.seq, surroundings.at, total, record, message.seq, mark_of(message.message_id))
            entries.append(row)
            found.append(verdict)
            surroundings.seq += 1
    journal.write_marked(connection, entries)
    is_taken_over = any(type(step.mutation) is OwnerChanged for step in steps)
    verdicts = _by_message(messages, steps, found)
    return Applied(verdicts, surroundings.seq - 1, owner(connection) if is_taken_over else None)


def _steps(message: Committed, stream: str) -> list[_Step]:
    """Give the records of a message; one that no node wrote has one that is nothing.

    Raises:
        FailedPrecondition: as `unknown`.
    """
    try:
        return [
            _Step(message, record, epoch, journal.decode_record(record))
            for record, epoch in message.records or ((NOTHING, 0),)
        ]
    except msgspec.MsgspecError as error:
        raise unknown(stream, message.seq) from error


def _end_of_puts(steps: Sequence[_Step], begin: int) -> int:
    """Give the end of a run of plain puts to one store, which may go in together; that of anything else is the next."""
    end = begin
    first = steps[begin].mutation
    while end < len(steps) and type(steps[end].mutation) is PutRow and steps[end].mutation.mutation_id is None:
        if steps[end].epoch or steps[end].mutation.store != first.store:
            break
        end += 1
    return max(end, begin + 1)


def _apply(surroundings: Apply, step: _Step) -> tuple[Any | DexError, bytes]:
    """Apply one record; give its verdict and what is journaled of it."""
    try:
        if step.epoch:
            check_epoch(surroundings.connection, step.epoch)
        outcome = machine.apply(surroundings, step.mutation, step.record)
    except DexError as error:
        return error, NOTHING
    if outcome.changed_catalog:
        catalog.touch(surroundings.connection)
        surroundings.catalog = catalog.load(surroundings.connection)
    return outcome.result, step.record if outcome.wrote else NOTHING


def _by_message(
    messages: Sequence[Committed], steps: Sequence[_Step], found: Sequence[Any | DexError]
) -> list[list[Any | DexError]]:
    """Give the verdicts of each message."""
    verdicts: dict[int, list[Any | DexError]] = {message.seq: [] for message in messages}
    for step, verdict in zip(steps, found, strict=True):
        verdicts[step.message.seq].append(verdict)
    return list(verdicts.values())
