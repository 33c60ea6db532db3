"""Whether a stream is its cluster's own, and has what a node has applied of it (spec: K-03, K-08).

A stream that was deleted, made anew or put back to an earlier state would go on with other messages in place of those
that nodes have applied already, and the nodes would differ without a word.
"""

import sqlite3
import time
from typing import NamedTuple
from zlib import crc32

import nats.js.errors
from nats.js import api

from dex.engine.cluster.link import LINK_ERRORS, Link
from dex.engine.cluster.messages import MESSAGE_ID
from dex.wcl.errors import FailedPrecondition

OWNER = "dex-cluster"
"""The field of a stream's metadata that has the id of its cluster."""

# For so long a server that was cut off may tell of an earlier state: at a start, and while a node reads.
_START_SECONDS = 10.0
_READING_SECONDS = 60.0
_REMEDY = (
    "it was deleted, made anew or put back to an earlier state: put back the journal of all journal servers, or all of"
    " the cluster, from a backup (README: Backup), and start this node again"
)


class Reached(NamedTuple):
    """The last message of a stream that was applied: its sequence there, and its mark, None where nobody knows that."""

    seq: int
    mark: int | None


def mark_of(message_id: str) -> int | None:
    """Give what is kept of a message's id, which no node uses twice; None where it is not of a node."""
    return crc32(message_id.encode()) if message_id and message_id.isascii() else None


def reached(connection: sqlite3.Connection) -> Reached:
    """Give the last message that a node's file has, of sequence 0 where it has none."""
    # In a file of schema 6 or before a message had one record, at the position of its own sequence.
    last = connection.execute("SELECT ifnull(message, seq), mark FROM journal ORDER BY seq DESC LIMIT 1").fetchone()
    return Reached(*(last or (0, None)))


def owner_of(info: api.StreamInfo) -> str | None:
    """Give the id of the cluster that a stream was made for, None where no cluster made it."""
    return (info.config.metadata or {}).get(OWNER)


class Continuity:
    """Looks at one stream for one node. `cluster_id` is set before."""

    def __init__(self, link: Link, stream: str) -> None:
        self._link = link
        self._stream = stream
        self._doubted: float | None = None
        self.cluster_id = ""

    async def find(self, by: Link | None = None, *, reading: bool = False) -> api.StreamInfo:
        """Give what the journal servers tell of the stream, asked by another connection if need be.

        Raises:
            FailedPrecondition: it is not there, or not this cluster's.
            TimeoutError: as `check`.
        """
        try:
            info = await (by or self._link).js.stream_info(self._stream)
        except nats.js.errors.NotFoundError:
            raise self._doubt("is not there", reading=reading) from None
        except LINK_ERRORS:
            self._doubted = None  # only what is told all the time is no server that was cut off
            raise
        owner = owner_of(info)
        if owner != self.cluster_id:
            whose = "no cluster" if owner is None else f"cluster {owner}"
            raise self._refusal(f"was made for {whose}, and this node belongs to cluster {self.cluster_id}")
        return info

    async def check(self, applied: Reached, by: Link | None = None, *, reading: bool = False) -> api.StreamState:
        """Look whether the stream has what was applied, and give where it begins and ends.

        A message that was purged cannot be compared; a snapshot was verified before it was.

        Raises:
            FailedPrecondition: as `find`, or the stream ends before, or has another message there.
            TimeoutError: it may be a server that was cut off who tells so; ask again.
        """
        state = (await self.find(by, reading=reading)).state
        if state.last_seq < applied.seq:
            told = f"ends at message {state.last_seq}, and {applied.seq} was applied before"
            raise self._doubt(told, reading=reading)
        if applied.mark is not None and state.first_seq <= applied.seq:
            await self._compare(applied, by or self._link, reading=reading)
        self._doubted = None
        return state

    async def _compare(self, applied: Reached, by: Link, *, reading: bool) -> None:
        try:
            message = await by.js.get_msg(self._stream, applied.seq)
        except nats.js.errors.NotFoundError:
            told = f"has no message {applied.seq}, which was applied before"
            raise self._doubt(told, reading=reading) from None
        if mark_of((message.headers or {}).get(MESSAGE_ID, "")) != applied.mark:
            raise self._refusal(f"has another message {applied.seq} than was applied before")

    def _doubt(self, what: str, *, reading: bool) -> FailedPrecondition | TimeoutError:
        """Give the error for what a server that was cut off may tell, too."""
        self._doubted = self._doubted or time.monotonic()
        if time.monotonic() - self._doubted >= (_READING_SECONDS if reading else _START_SECONDS):
            return self._refusal(what)
        return TimeoutError(f"stream {self._stream} {what}")

    def _refusal(self, what: str) -> FailedPrecondition:
        return FailedPrecondition(f"stream {self._stream} of the journal at {self._link.where} {what}", _REMEDY)
