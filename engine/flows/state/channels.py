"""Channels: messages in the order of their publishing, each kept until it is consumed or deleted."""

import sqlite3
from typing import NamedTuple

from dex.engine.apply import Apply
from dex.engine.flows.records import Publish
from dex.wcl.errors import ChannelMessageNotFoundError

_MESSAGES_PER_COMMIT = 65_536


class Pending(NamedTuple):
    """A message that nobody has consumed, its value in stored form and its time in ms."""

    id: int
    data: bytes
    at: int


def publish(apply: Apply, run: int, event: int, publishes: list[Publish]) -> list[int]:
    """Add messages and give their ids."""
    first = apply.seq * _MESSAGES_PER_COMMIT
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


def check_pending(connection: sqlite3.Connection, run: int, channel: str | None, ids: list[int]) -> None:
    """Refuse ids that are not pending messages, of the Channel if one is named.

    Raises:
        ChannelMessageNotFoundError: naming the first such id.
    """
    query = "SELECT 1 FROM messages WHERE id = ?1 AND run = ?2 AND ended_event IS NULL AND (?3 IS NULL OR channel = ?3)"
    for id_ in ids:
        if connection.execute(query, (id_, run, channel)).fetchone() is None:
            raise ChannelMessageNotFoundError(
                f"there is no pending message {id_}" + (f" in Channel {channel!r}" if channel else ""),
                "list the pending messages and use their ids",
                message_id=str(id_),
            )


def data(connection: sqlite3.Connection, ids: list[int]) -> list[bytes]:
    """Give the values of messages, consumed ones included, in the order of `ids`."""
    query = "SELECT data FROM messages WHERE id = ?"
    return [connection.execute(query, (id_,)).fetchone()[0] for id_ in ids]
