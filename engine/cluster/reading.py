"""Reading a partition's stream, and applying what comes where it comes: to hand a message to another thread would cost
about as much as to apply it.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext, api

from dex.engine.cluster.continuity import Reached, mark_of
from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.engine.cluster.messages import Committed, committed
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.stream import Stream
from dex.wcl.errors import FailedPrecondition

R = TypeVar("R")

OnBatch: TypeAlias = Callable[[Sequence[Committed]], Awaitable[None]]

_log = logging.getLogger("dex.cluster")

_HEARTBEAT_SECONDS = 0.5
_LOOK_SECONDS = 0.5
# What is asked for goes another way than what is read, and may be there before.
_MEANWHILE_SECONDS = 0.1
_REST_SECONDS = 0.1
# What is applied in one transaction, in records and in bytes, but for the rest of the last message.
_MOST_AT_ONCE = 1000
_MOST_BYTES_AT_ONCE = 1024 * 1024


class Reading:
    """Reads the messages of a stream by a connection of its own; `on_batch` applies them."""

    def __init__(self, stream: Stream, link: Link, on_batch: OnBatch) -> None:
        self._stream = stream
        self._link = link
        self._on_batch = on_batch
        self._outage = Outage(f"reading {stream.name}", _LOOK_SECONDS)
        self._since: float | None = None

    @property
    def waited(self) -> float:
        """How many seconds it has not gone on, 0 where it does."""
        return 0.0 if self._since is None else time.monotonic() - self._since

    async def run(self, after: Reached) -> None:
        """Read what follows a message, for ever.

        Raises:
            FailedPrecondition: the stream begins later: what was between is gone; or as `Continuity.check`.
        """
        reached = after

        async def on_batch(batch: Sequence[Committed]) -> None:
            nonlocal reached
            self._go_on()
            await self._on_batch(batch)
            reached = Reached(batch[-1].seq, mark_of(batch[-1].message_id))

        while True:
            try:
                await self._follow(reached, on_batch)
            except LINK_ERRORS as error:
                self._since = self._since or time.monotonic()
                self._outage.goes_on(in_words(error))
                await asyncio.sleep(_REST_SECONDS)

    def _go_on(self) -> None:
        self._since = None
        self._outage.is_over()

    async def _ask(self, question: Callable[[Link], Coroutine[Any, Any, R]]) -> R:
        """Ask by the connection that the stream has, whose server is known to reach the others, as a rule.

        Where that one is cut off, which is known after a lease alone, by the connection that is read by.
        """
        link = self._stream.link
        try:
            return await asyncio.wrap_future(link.submit(question(link)))
        except LINK_ERRORS as error:
            _log.debug("asking about %s by the other connection: %s", self._stream.name, in_words(error))
            return await question(self._link)

    async def _follow(self, after: Reached, on_batch: OnBatch) -> None:
        """Read until something is amiss with the consumer."""
        state = await self._ask(lambda link: self._stream.continuity.check(after, link, reading=True))
        if state.first_seq > after.seq + 1:
            raise FailedPrecondition(
                f"stream {self._stream.name} begins at message {state.first_seq}, and this node has applied"
                f" {after.seq}",
                "start the node again, so that it takes a snapshot",
            )
        consumer = _Consumer(self._stream, after.seq, on_batch)
        subscription = await self._link.js.subscribe(
            self._stream.subject,
            stream=self._stream.name,
            ordered_consumer=True,
            config=api.ConsumerConfig(deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=after.seq + 1),
            idle_heartbeat=_HEARTBEAT_SECONDS,
            cb=consumer.take,
        )
        consumer.subscription = subscription
        try:
            while not consumer.ended.done():
                await asyncio.wait([consumer.ended], timeout=_LOOK_SECONDS)
                if consumer.is_busy:  # it cannot apply, and should still know how far behind it is
                    with suppress(*LINK_ERRORS):
                        await self._ask(self._stream.look)
                elif consumer.is_quiet() and not await self._goes_on(consumer):
                    return
            consumer.ended.result()
        finally:
            try:
                await subscription.unsubscribe()
            except (NatsError, OSError) as error:
                _log.debug("leaving a consumer of %s: %s", self._stream.name, error)

    async def _goes_on(self, consumer: "_Consumer") -> bool:
        """Tell whether a consumer from which nothing came lately has given all that there is."""
        last = await self._ask(self._stream.look)
        if consumer.reached != last:
            await asyncio.wait([consumer.ended], timeout=_MEANWHILE_SECONDS)
            if consumer.is_quiet() and consumer.reached != last:
                return False
        self._go_on()
        return True


class _Consumer:
    """Takes what one consumer gives: `ended` is done where that does not go on from `reached`, or cannot be applied.

    The client library makes a consumer that was lost anew, and its count begins anew then: meanwhile the stream may
    have become another.
    """

    def __init__(self, stream: Stream, after: int, on_batch: OnBatch) -> None:
        self._stream = stream
        self._after = after
        self._on_batch = on_batch
        self._batch: list[Committed] = []
        self._records = 0
        self._bytes = 0
        self._was_busy = False
        self.subscription: JetStreamContext.PushSubscription | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.reached = after
        self.is_busy = False

    def is_quiet(self) -> bool:
        """Tell whether nothing has come since this was asked last, and nothing is being applied."""
        was_busy, self._was_busy = self._was_busy, self.is_busy
        return not was_busy and not self.is_busy

    async def take(self, message: Msg) -> None:
        """Take a message, and apply it with those before once no more is here."""
        if self.ended.done():
            return
        try:
            await self._take(message)
        except Exception as error:  # noqa: BLE001  # raised where it is read from here
            self.ended.set_exception(error)
        finally:
            self.is_busy = False

    async def _take(self, message: Msg) -> None:
        self.is_busy = self._was_busy = True
        metadata = message.metadata
        seq = self.reached + 1
        if (metadata.sequence.stream, metadata.sequence.consumer) != (seq, seq - self._after):
            self.ended.set_result(None)
            return
        self.reached = seq
        found = committed(self._stream.name, seq, message, round(metadata.timestamp.timestamp() * 1000))
        self._batch.append(found)
        self._records += len(found.records) or 1
        self._bytes += len(message.data)
        more = self.subscription is not None and self.subscription.pending_msgs
        if more and self._records < _MOST_AT_ONCE and self._bytes < _MOST_BYTES_AT_ONCE:
            return
        batch, self._batch, self._records, self._bytes = self._batch, [], 0, 0
        self._stream.committed(seq)
        await self._on_batch(batch)
