"""The writer of a partition: mutations go to its stream, come back in the order of all nodes, and are applied then.

It stands where the embedded engine has its own writer, which it uses for what concerns this node's file alone.
"""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from dex.engine import catalog, journal
from dex.engine.cluster.applying import NOTHING, Applied, apply_messages
from dex.engine.cluster.barriers import Barriers
from dex.engine.cluster.continuity import Reached, reached
from dex.engine.cluster.early import Early
from dex.engine.cluster.journalclock import JournalClock
from dex.engine.cluster.link import Link
from dex.engine.cluster.messages import Committed, Record, encode, expected
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.outbox import Outbox, Sending, Sent
from dex.engine.cluster.reading import Reading
from dex.engine.cluster.stream import Stream
from dex.engine.cluster.verdicts import Found, Verdicts
from dex.engine.machine import MUTATIONS
from dex.engine.owner import Owner, OwnerChanged, not_owner, owner
from dex.engine.remote.trying import may_be_applied
from dex.engine.writer import Pass, Writer
from dex.wcl.errors import DexError, Unavailable

R = TypeVar("R")

_log = logging.getLogger("dex.cluster")
_REST_SECONDS = 0.2
# What is sent waits as long where the file is busy.
_BUSY_SECONDS = 0.5
_SILENCE_SECONDS = 5.0
_MOST_EARLY_BYTES = 64 * 1024
# Beyond these a node is too slow to own a partition: it applies several thousand records a second.
_SLOW_SECONDS = 1.0
_MOST_BEHIND = 10_000


class ReplicatedWriter:
    """Publishes mutations and applies what is committed.

    `applied` is the position that this node has reached, `message` the last message of the stream that it has applied,
    and `lead` how much further the positions are than the messages.
    """

    def __init__(self, inner: Writer, stream: Stream, link: Link, clock: JournalClock, timeout: float) -> None:
        self._inner = inner
        self.stream = stream
        # What is sent and what comes back share a thread, which applies it too: each more would be one to wake up.
        self._link = link.beside(f"dex-{stream.name}")
        self._clock = clock
        self._timeout = timeout
        self._reached = threading.Condition()
        self._barriers = Barriers(self._begin_barrier)
        self._tasks: list[Future[None]] = []
        self._outbox = Outbox(
            self._link, stream.subject, self._encode, lambda: self._link.most_bytes, stream.committed, self._on_sent
        )
        self._early = Early(inner, stream.name, self._link.loop)
        self._reading = Reading(stream, self._link, self._on_batch)
        self._applying = Outage(f"applying {stream.name}", _SLOW_SECONDS)
        # Why what is committed is not applied here now: the file is busy, or its disk full.
        self.hindered: Unavailable | None = None
        self._applying_since: float | None = None
        self._is_closed = False
        self.fault: BaseException | None = None
        self.applied = 0
        self.message = 0
        self.lead = 0
        # How many records a message has: the average of those read last.
        self._records_each = 1.0
        self.writes = 0
        # Who owns the partition at the position that was applied.
        self.owner = Owner(0, "", "")
        # Gives the epoch in which this node owns the partition, or raises Unavailable.
        self.epoch: Callable[[], int] = _no_owner

    def start(self) -> None:
        """Begin to apply what the stream has.

        Raises:
            Unavailable: the journal servers do not answer.
        """
        found: list[Reached] = []

        def look(connection: sqlite3.Connection, _catalog: catalog.Catalog, head: journal.Head) -> bool:
            found.append(reached(connection))
            self.owner = owner(connection)
            self._arrive(head.seq, found[-1].seq)
            return False

        self._inner.run(look)
        self._link.open()
        works = (self._reading.run(found[-1]), self._outbox.run(), self._keep_in_touch())
        self._tasks = [self._link.submit(work) for work in works]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    @property
    def waited(self) -> float:
        """How many seconds the journal has left what was sent to it without an answer."""
        return self._outbox.waited

    @property
    def refusal(self) -> str:
        """Why the journal took nothing last, in its own words; empty where it took something, or did not say."""
        return self._outbox.refusal

    @property
    def commits(self) -> int:
        """How many transactions this node's file has had."""
        return self._inner.commits

    def write(self, mutations: Sequence[Any]) -> list[Any | DexError]:
        """Commit mutations in order and give each one's result, or the error that refused it, as apply found it.

        Where the journal has no quorum, that is Unavailable, and it says that the mutation may still be committed.
        """
        self.writes += 1
        deadline = time.monotonic() + self._timeout
        results: list[Any | DexError] = []
        records: list[tuple[bytes, int, int]] = []
        for mutation in mutations:
            try:
                epoch = 0 if type(mutation) in MUTATIONS else self.epoch()
                record = journal.encode_record(mutation)
                self._outbox.check_size(record)
                records.append((record, epoch, len(results)))
                results.append(None)
            except DexError as error:
                results.append(error)
        if not records:
            return results
        found = self._send_and_wait([(record, epoch) for record, epoch, _ in records], deadline)
        for (_, _, place), verdict in zip(records, found, strict=True):
            results[place] = verdict
        return results

    @property
    def lags(self) -> bool:
        """Whether this node cannot apply now what is committed, or not as fast as it comes."""
        since = self._applying_since
        is_slow = since is not None and time.monotonic() - since > _SLOW_SECONDS
        behind = (self.stream.last_seq - self.message) * self._records_each
        return is_slow or self.hindered is not None or behind > _MOST_BEHIND

    def take_over(self, record: OwnerChanged, seconds: float) -> None:
        """Tell all nodes that this one owns the partition, and wait until it has applied all that came before.

        Raises:
            Unavailable: that did not come about in time, or another node was first.
        """
        deadline = time.monotonic() + seconds
        (verdict,) = self._send_and_wait([(journal.encode_record(record), 0)], deadline)
        if isinstance(verdict, DexError):
            raise verdict

    def barrier(self, seconds: float) -> None:
        """Wait until this node has applied all that was committed before the call (spec: K-06).

        Raises:
            Unavailable: that did not come about in time.
        """
        try:
            self._barriers.join().result(seconds)
        except TimeoutError as error:
            told = f"this node has not caught up with the journal within {seconds:g} s"
            if (hindered := self.hindered) is not None:
                raise Unavailable(f"{told}: {hindered.message}", hindered.remedy) from error
            raise Unavailable(told, "try again later") from error

    def wait_for(self, position: int, seconds: float) -> None:
        """Wait until this node has applied a position.

        Raises:
            Unavailable: that did not come about in time.
        """
        with self._reached:
            if not self._reached.wait_for(lambda: self.applied >= position, seconds):
                raise Unavailable(
                    f"this node has applied position {self.applied}, and {position} is waited for", "try again later"
                )

    @property
    def is_behind(self) -> bool:
        """Whether this node has not applied yet what it knows to be committed."""
        return self.message < self.stream.last_seq

    def hear(self, seconds: float) -> None:
        """Wait until this node has applied what it knows to be committed, or for some seconds."""
        last = self.stream.last_seq
        with self._reached:
            self._reached.wait_for(lambda: self.message >= last, seconds)

    def run(self, work: Pass, patience: float | None = None) -> bool:
        """Carry out a pass on this node's file alone."""
        return self._inner.run(work, patience)

    def ride(self, work: Pass, seconds: float) -> bool | None:
        """Carry out a pass on this node's file with the next commit."""
        return self._inner.ride(work, seconds)

    def lend(self, read: Callable[[sqlite3.Connection | None], R]) -> R:
        """Give what `read` gives that is lent the file's connection for a short time."""
        return self._inner.lend(read)

    def close(self) -> None:
        """End applying and close the file; what comes later is not sent."""
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        self._link.close(None)  # once what is being applied is
        self._early.close()
        self._outbox.abandon(self._stopped_meanwhile())
        self._inner.close()

    async def _keep_in_touch(self) -> None:
        """Stay with the stream's leader, by which nothing is handed on between servers; leave one that is silent."""
        sought = ""
        while True:
            leader = self.stream.leader
            if max(self._outbox.waited, self._reading.waited) > _SILENCE_SECONDS:
                sought = leader  # it may be the one that is silent: cut off from the others, and still told to be
                await self._link.move()
                self._outbox.send_again()
                await asyncio.sleep(_SILENCE_SECONDS)
            elif self._link.server == leader:
                sought = ""
            elif leader not in {"", sought}:
                sought = leader  # once: there may be no way to it
                await self._link.move(leader)
                self._outbox.send_again()
            await asyncio.sleep(_REST_SECONDS)

    def _encode(self, records: list[Record]) -> bytes:
        return encode(self._clock.now_ms(), records)

    def _send(self, records: Sequence[Record], deadline: float, verdicts: Verdicts, *, first: bool = False) -> None:
        """Begin to send records, each with its epoch."""
        if self._has_ended():
            verdicts.give_missing(Unavailable(f"{self._stopped()}: nothing was sent", "ask another node"))
            return
        sendings = [Sending(record, epoch, deadline, verdicts, place) for place, (record, epoch) in enumerate(records)]
        self._outbox.put(sendings, first=first)
        if self._has_ended():  # since then, and who was told then may not have been these
            verdicts.give_missing(self._stopped_meanwhile())

    def _has_ended(self) -> bool:
        return self._is_closed or self.fault is not None

    def _begin_barrier(self, on_done: Callable[[Found], None]) -> None:
        # What waits here is not committed, and no barrier has to wait for it.
        self._send([(NOTHING, 0)], time.monotonic() + self._timeout, Verdicts(1, on_done), first=True)

    def _send_and_wait(self, records: Sequence[Record], deadline: float) -> Found:
        """Give the verdicts of records; what this node has not applied in time is Unavailable."""
        verdicts = Verdicts(len(records))
        self._send(records, deadline, verdicts)
        if not verdicts.wait(deadline - time.monotonic()):
            verdicts.give_missing(
                may_be_applied("this node has not applied the write in time, and it may have been committed")
            )
        return verdicts.found

    def _on_sent(self, sent: Sent) -> None:
        """Apply early what is sent alone, if it is the next as far as this node knows."""
        is_next = self.stream.last_seq <= self.message and self.hindered is None
        if is_next and len(sent.sendings) == 1 and sent.size <= _MOST_EARLY_BYTES:
            self._early.begin(expected(self.message + 1, sent.message_id, sent.data))

    async def _on_batch(self, messages: Sequence[Committed]) -> None:
        for message in messages:
            self._outbox.read(message.message_id)
        self._records_each = sum(max(1, len(message.records)) for message in messages) / len(messages)
        while True:
            try:
                self._applying_since = time.monotonic()
                self._apply(messages)
            except Unavailable as error:
                self.hindered = error
                self._applying.goes_on(str(error))
                await asyncio.sleep(_REST_SECONDS)
            else:
                self.hindered = None
                self._applying.is_over()
                return
            finally:
                self._applying_since = None

    def _apply(self, messages: Sequence[Committed]) -> None:
        """Apply messages, and tell whoever waits."""
        ready = self._early.take(messages[0])
        if ready is not None:
            self.lead = ready.applied.position - messages[0].seq
            ready.held.commit()
            self._tell(messages[:1], ready.applied)
            messages = messages[1:]
        if messages:
            self._tell(messages, self._commit(messages))

    def _commit(self, messages: Sequence[Committed]) -> Applied:
        found: list[Applied] = []

        def work(connection: sqlite3.Connection, known: catalog.Catalog, head: journal.Head) -> bool:
            found.append(apply_messages(connection, known, head, messages, self.stream.name))
            # Before readers see these positions: beside the lead of those before, the next message would seem applied.
            self.lead = found[-1].position - messages[-1].seq
            return False

        self._inner.run(work, _BUSY_SECONDS)
        return found[-1]

    def _tell(self, messages: Sequence[Committed], applied: Applied) -> None:
        """Take note of what was applied, and tell whoever waits for it."""
        self.owner = applied.owner or self.owner
        with self._reached:
            self._arrive(applied.position, messages[-1].seq)
            self._reached.notify_all()
        for message, verdicts in zip(messages, applied.verdicts, strict=True):
            sent = self._outbox.take(message.message_id) if verdicts else None
            if sent is not None:
                self._clock.heard(message.at, message.taken_at)
                sent.give(verdicts)

    def _arrive(self, position: int, message: int) -> None:
        self.applied, self.message, self.lead = position, message, position - message

    def _ended(self, task: "Future[None]") -> None:
        """Keep why this node does not go on with the stream, and tell whoever waits: it applies nothing any more."""
        if task.cancelled():
            return
        self.fault = task.exception()
        _log.error("%s", self._stopped())
        self._outbox.abandon(self._stopped_meanwhile())

    def _stopped_meanwhile(self) -> Unavailable:
        return may_be_applied(f"{self._stopped()}, and the write may be committed")

    def _stopped(self) -> str:
        if self.fault is None:
            return "the engine is closed"
        return f"this node does not go on with {self.stream.name}: {self.fault}"


def _no_owner() -> int:
    raise not_owner()
