"""Channels: messages in the order of their publishing, each kept until it is consumed or deleted."""

import sqlite3
from typing import NamedTuple

from dex.engine.apply import Apply
from dex.engine.flows.records import MAX_PER_COMMIT, Publish
from dex.wcl.errors import ChannelMessageNotFoundError

_LONGEST_ID = 18


class Pending(NamedTuple):
    """A message that nobody has consumed, its value in stored form and its time in ms."""

    id: int
    data: bytes
    at: int


def publish(apply: Apply, run: int, event: int, publishes: list[Publish]) -> list[int]:
    """Add messages and give their ids."""
    first = apply.seq * MAX_PER_COMMIT
    apply.connection.executemany(
        "INSERT INTO messages (id, run, channel, data, at, created_event) VALUES (?, ?, ?, ?, ?, ?)",
        [(first + i, run, message.channel, message.data, apply.at, event) for i, message in enumerate(publishes)],
    )
    return [first + i for i in range(len(publishes))]


def pending(connection: sqlite3.Connection, run: int, channel: str, limit: int = -1) -> list[Pending]:
    """Give the pending messages of a Channel, the oldest first."""
    rows = connection.execute(
        "SELECT id, data, at FROM messages WHERE run = ? AND channel = ? AND ended_event IS NULL ORDER BY id LIMIT ?",
        (run, channel, limit),
    )
    return [Pending(*row) for row in rows]


def size(connection: sqlite3.Connection, run: int, channel: str) -> int:
    """Count the pending messages of a Channel."""
    query = "SELECT count(*) FROM messages WHERE run = ? AND channel = ? AND ended_event IS NULL"
    return int(connection.execute(query, (run, channel)).fetchone()[0])


def sizes(connection: sqlite3.Connection, run: int) -> dict[str, int]:
    """Count the pending messages of every Channel that has any."""
    rows = connection.execute(
        "SELECT channel, count(*) FROM messages WHERE run = ? AND ended_event IS NULL GROUP BY channel"
        " ORDER BY channel",
        (run,),
    )
    return dict(rows.fetchall())


def consume(connection: sqlite3.Connection, event: int, ids: list[int]) -> None:
    """Take messages away: they were consumed or deleted by an event."""
    connection.executemany("UPDATE messages SET ended_event = ? WHERE id = ?", [(event, id_) for id_ in ids])


def any_pending(connection: sqlite3.Connection, run: int) -> bool:
    """Tell whether any Channel has a pending message."""
    query = "SELECT 1 FROM messages WHERE run = ? AND ended_event IS NULL LIMIT 1"
    return connection.execute(query, (run,)).fetchone() is not None


def check_pending(connection: sqlite3.Connection, run: int, deletes: list[tuple[str, int]]) -> None:
    """Refuse what is not a pending message of the Channel it is named with.

    Raises:
        ChannelMessageNotFoundError: naming the first such id.
    """
    query = "SELECT 1 FROM messages WHERE id = ? AND run = ? AND ended_event IS NULL AND channel = ?"
    for channel, id_ in deletes:
        if connection.execute(query, (id_, run, channel)).fetchone() is None:
            raise not_pending(channel, str(id_))


def not_pending(channel: str, message_id: str) -> ChannelMessageNotFoundError:
    """Give the error for an id that is not one of a pending message of the Channel."""
    return ChannelMessageNotFoundError(
        f"there is no pending message {message_id!r} in Channel {channel!r}",
        "list the pending messages and use their ids",
        channel=channel,
        message_id=message_id,
    )


def parse_id(channel: str, message_id: str) -> int:
    """Give the stored form of a message's id.

    Raises:
        ChannelMessageNotFoundError: no message can have this id.
    """
    if not message_id.isascii() or not message_id.isdigit() or len(message_id) > _LONGEST_ID:
        raise not_pending(channel, message_id)
    return int(message_id)


def copy(apply: Apply, source: int, target: int, event: int, consumed: list[int]) -> dict[int, int]:
    """Give a new run the messages that another had pending right after an event, and some that it had consumed.

    Gives the new id of each by its old one.
    """
    pending_then = apply.connection.execute(
        "SELECT id, channel, data, NULL FROM messages"
        " WHERE run = ?1 AND created_event <= ?2 AND (ended_event IS NULL OR ended_event > ?2)",
        (source, event),
    ).fetchall()
    query = "SELECT id, channel, data, 1 FROM messages WHERE id = ?"
    taken = [apply.connection.execute(query, (id_,)).fetchone() for id_ in consumed]
    first = apply.seq * MAX_PER_COMMIT
    rows = sorted([*pending_then, *taken])
    apply.connection.executemany(
        "INSERT INTO messages (id, run, channel, data, at, created_event, ended_event) VALUES (?, ?, ?, ?, ?, 1, ?)",
        [(first + i, target, channel, data, apply.at, ended) for i, (_, channel, data, ended) in enumerate(rows)],
    )
    return {old: first + i for i, (old, *_) in enumerate(rows)}


def data(connection: sqlite3.Connection, ids: list[int]) -> list[bytes]:
    """Give the values of messages, consumed ones included, in the order of `ids`."""
    query = "SELECT data FROM messages WHERE id = ?"
    return [connection.execute(query, (id_,)).fetchone()[0] for id_ in ids]
