"""The replicated journal of one partition: a stream of records, appended to by any node and read by all (spec: K-03).

A message has one record or several, each of which has a position of its own in the journal of every node.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
import nats.js.errors
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext, api

from dex.engine.cluster.continuity import OWNER, Continuity, Reached, mark_of, owner_of
from dex.engine.cluster.journalclock import bounded
from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.outbox import MESSAGE_ID, Record
from dex.wcl.errors import FailedPrecondition, Refused

PushSubscription: TypeAlias = JetStreamContext.PushSubscription

_log = logging.getLogger("dex.cluster")

_HEARTBEAT_SECONDS = 0.5
_DUPLICATE_SECONDS = 120.0
_LOOK_SECONDS = 0.5
# What is applied in one transaction, in records and in bytes, but for the rest of the last message.
_MOST_AT_ONCE = 1000
_MOST_BYTES_AT_ONCE = 1024 * 1024
_HEADER_BYTES = 1024
_LIMITS = ("max_age", "max_bytes", "max_msgs", "max_msgs_per_subject", "max_msg_size")
_MATTERS = ("subjects", "num_replicas", "storage", "retention", "discard", "duplicate_window", *_LIMITS)


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


def _committed(stream: str, seq: int, message: Msg, taken_at: int) -> Committed:
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
    records = ((told.records, told.epoch),) if isinstance(told.records, bytes) else told.records
    return Committed(seq, message_id, bounded(told.at, taken_at), records, taken_at)


def unknown(stream: str, seq: int) -> FailedPrecondition:
    """Give the error for what a node of another version may have written: one that left it out would differ."""
    return FailedPrecondition(
        f"stream {stream} has message {seq}, which this version of dex does not know",
        "upgrade this node; if no newer one wrote that message, put back a backup of the cluster (README: Backup)",
    )


class Stream:
    """One partition's stream. `last_seq` is the last message known to be committed, which may lag behind."""

    def __init__(self, link: Link, cluster: str, partition: int, replicas: int) -> None:
        self._link = link
        self._replicas = replicas
        self.name = f"{cluster}-journal-{partition}"
        self.subject = f"{cluster}.journal.{partition}"
        self.partition = partition
        self.last_seq = 0
        self.continuity = Continuity(link, self.name)
        self._outage = Outage(f"reading {self.name}", _LOOK_SECONDS)

    async def owner(self) -> str | None:
        """Give the id of the cluster that the stream was made for, None where it is not there."""
        try:
            return owner_of(await self._link.js.stream_info(self.name))
        except nats.js.errors.NotFoundError:
            return None

    async def join(self, cluster_id: str, *, is_made: bool) -> None:
        """Find the stream of a cluster; where the streams of that are not made yet, make it.

        Raises:
            FailedPrecondition: it is gone, another cluster's, or configured otherwise.
            TimeoutError: as `Continuity.find`.
        """
        wanted = self._config(cluster_id)
        if not is_made:
            await self._link.make_stream(wanted)
        self.continuity.cluster_id = cluster_id
        info = await self.continuity.find()
        for field in _MATTERS:
            found, expected = getattr(info.config, field), getattr(wanted, field)
            if found != expected:
                raise FailedPrecondition(
                    f"stream {self.name} of the journal has {field} {found}, and {expected} is needed",
                    "somebody edited it: set that back with the nats tool, or use other journal servers",
                )
        self.last_seq = info.state.last_seq

    def _config(self, cluster_id: str) -> api.StreamConfig:
        return api.StreamConfig(
            name=self.name,
            subjects=[self.subject],
            num_replicas=self._replicas,
            storage=api.StorageType.FILE,
            retention=api.RetentionPolicy.LIMITS,
            max_age=0,
            max_bytes=-1,
            max_msgs=-1,
            max_msgs_per_subject=-1,
            max_msg_size=-1,
            discard=api.DiscardPolicy.NEW,
            duplicate_window=_DUPLICATE_SECONDS,
            deny_delete=True,
            metadata={OWNER: cluster_id},
        )

    def encode(self, at: int, records: list[Record]) -> bytes:
        """Give the form in which records are published as one message at a time in ms."""
        return _encode(Message(at, *records[0]) if len(records) == 1 else Message(at, records))

    def check_size(self, record: bytes) -> None:
        """Look whether a record can be published.

        Raises:
            Refused: it is larger than the journal servers take.
        """
        if len(record) > self.most_bytes:
            raise Refused(
                f"the command takes {len(record)} bytes in the journal, and its servers take {self.most_bytes}",
                "send less at once, or raise max_payload of the servers",
            )

    @property
    def most_bytes(self) -> int:
        """How many bytes of records fit into a message."""
        return self._link.nc.max_payload - _HEADER_BYTES

    def committed(self, seq: int) -> None:
        """Take note of a message that is committed."""
        self.last_seq = max(self.last_seq, seq)

    async def read(self, after: Reached, on_batch: Callable[[Sequence[Committed]], Awaitable[None]]) -> None:
        """Read what follows a message, for ever; `on_batch` applies messages.

        Raises:
            FailedPrecondition: the stream begins later: what was between is gone; or as `Continuity.check`.
        """
        reached = after

        async def apply(batch: Sequence[Committed]) -> None:
            nonlocal reached
            await on_batch(batch)
            reached = Reached(batch[-1].seq, mark_of(batch[-1].message_id))

        while True:
            try:
                await self._follow(reached, apply)
            except LINK_ERRORS as error:
                self._outage.goes_on(in_words(error))
                await asyncio.sleep(0.1)

    async def _follow(self, after: Reached, on_batch: Callable[[Sequence[Committed]], Awaitable[None]]) -> None:
        """Read until something is amiss with the consumer."""
        state = await self.continuity.check(after, reading=True)
        if state.first_seq > after.seq + 1:
            raise FailedPrecondition(
                f"stream {self.name} begins at message {state.first_seq}, and this node has applied {after.seq}",
                "start the node again, so that it takes a snapshot",
            )
        config = api.ConsumerConfig(deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=after.seq + 1)
        subscription = await self._link.js.subscribe(
            self.subject,
            stream=self.name,
            ordered_consumer=True,
            config=config,
            idle_heartbeat=_HEARTBEAT_SECONDS,
        )
        reached = after.seq
        try:
            while True:
                batch = await self._next(subscription, after.seq, reached)
                if batch is None:
                    return
                self._outage.is_over()
                if batch:
                    await on_batch(batch)
                    reached = batch[-1].seq
        finally:
            try:
                await subscription.unsubscribe()
            except (NatsError, OSError) as error:
                _log.debug("leaving a consumer of %s: %s", self.name, error)

    async def _next(self, subscription: PushSubscription, after: int, reached: int) -> list[Committed] | None:
        """Give what has come, nothing where all is quiet, or None where the consumer does not go on from `reached`.

        The client library makes a consumer that was lost anew, and its count begins anew then: meanwhile the stream may
        have become another.
        """
        try:
            message = await subscription.next_msg(timeout=_LOOK_SECONDS)
        except TimeoutError:
            return [] if await self._look() == reached else None
        found: list[Committed] = []
        records = size = 0
        while True:
            metadata = message.metadata
            reached += 1
            if (metadata.sequence.stream, metadata.sequence.consumer) != (reached, reached - after):
                return None
            found.append(_committed(self.name, reached, message, round(metadata.timestamp.timestamp() * 1000)))
            records += len(found[-1].records) or 1
            size += len(message.data)
            if not subscription.pending_msgs or records >= _MOST_AT_ONCE or size >= _MOST_BYTES_AT_ONCE:
                break
            message = await subscription.next_msg(timeout=None)  # it is there, and a timer costs as much as it
        self.committed(reached)
        return found

    async def _look(self) -> int:
        """Ask for the last message; the answer may be out of date, so it is for information only."""
        seq = (await self._link.js.stream_info(self.name)).state.last_seq
        self.committed(seq)
        return seq

    async def begins_at(self) -> int:
        """Give the first message that is still there, or the next one where none is."""
        return (await self._link.js.stream_info(self.name)).state.first_seq

    async def purge(self, until: int) -> None:
        """Delete what is up to a message, which a verified snapshot has."""
        if until > 0:
            await self._link.js.purge_stream(self.name, seq=until + 1)
