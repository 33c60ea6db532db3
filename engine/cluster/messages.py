"""What the messages of a partition's stream say."""

import logging
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from nats.aio.msg import Msg

from dex.engine.cluster.journalclock import bounded
from dex.wcl.errors import FailedPrecondition

_log = logging.getLogger("dex.cluster")

Record = tuple[bytes, int]
"""A record of the journal in its encoded form, and the epoch it is of, 0 for none."""

MESSAGE_ID = "Nats-Msg-Id"
"""The header that has a message's id."""


class Message(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What is published: the time in ms at its node, and a record of the journal with its epoch, or several such.

    The epoch is that of the partition's owner, 0 for what any node may write.
    """

    at: int
    records: bytes | list[Record]
    epoch: int = 0


class Committed(NamedTuple):
    """A message of the stream: its sequence, its id, and what was published; no record, where no node did that.

    `taken_at` is the time in ms at which the stream's leader took it, and `at` the one that it counts with.
    """

    seq: int
    message_id: str
    at: int
    records: Sequence[Record]
    taken_at: int


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Message).decode


def encode(at: int, records: list[Record]) -> bytes:
    """Give the form in which records are published as one message at a time in ms."""
    return _encode(Message(at, *records[0]) if len(records) == 1 else Message(at, records))


def committed(stream: str, seq: int, message: Msg, taken_at: int) -> Committed:
    """Give what a message says. Every node gives its messages ids, of whatever version it is.

    Raises:
        FailedPrecondition: as `unknown`.
    """
    message_id = (message.headers or {}).get(MESSAGE_ID, "")
    if not message_id:
        _log.warning("stream %s has message %d, which no node wrote: it counts as nothing", stream, seq)
        return Committed(seq, "", 0, (), taken_at)
    try:
        told = _decode(message.data)
    except msgspec.MsgspecError as error:
        raise unknown(stream, seq) from error
    return Committed(seq, message_id, bounded(told.at, taken_at), _records(told), taken_at)


def expected(seq: int, message_id: str, data: bytes) -> Committed:
    """Give a message as it comes back if it is the next that the stream takes, and its clock is right."""
    told = _decode(data)
    return Committed(seq, message_id, told.at, _records(told), told.at)


def _records(told: Message) -> Sequence[Record]:
    return ((told.records, told.epoch),) if isinstance(told.records, bytes) else told.records


def unknown(stream: str, seq: int) -> FailedPrecondition:
    """Give the error for what a node of another version may have written: one that left it out would differ."""
    return FailedPrecondition(
        f"stream {stream} has message {seq}, which this version of dex does not know",
        "upgrade this node; if no newer one wrote that message, put back a backup of the cluster (README: Backup)",
    )
