"""The writer of a partition: mutations go to its stream, come back in the order of all nodes, and are applied then.

It stands where the embedded engine has its own writer, which it uses for what concerns this node's file alone.
"""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Any, TypeVar
from uuid import uuid4

from dex.engine import catalog, journal
from dex.engine.cluster.applying import NOTHING, apply_messages
from dex.engine.cluster.barriers import Barriers
from dex.engine.cluster.continuity import Position, last_position
from dex.engine.cluster.journalclock import JournalClock
from dex.engine.cluster.link import Link
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.outbox import Outbox, Sending
from dex.engine.cluster.stream import Committed, Message, Stream
from dex.engine.cluster.verdicts import Verdicts
from dex.engine.machine import MUTATIONS
from dex.engine.owner import Owner, OwnerChanged, not_owner, owner
from dex.engine.remote.trying import may_be_applied
from dex.engine.writer import Pass, Writer
from dex.wcl.errors import DexError, Unavailable

R = TypeVar("R")

_log = logging.getLogger("dex.cluster")
_REST_SECONDS = 0.2
# Beyond these a node is too slow to own a partition: it applies several thousand positions a second.
_SLOW_SECONDS = 1.0
_MOST_BEHIND = 10_000


class ReplicatedWriter:
    """Publishes mutations and applies what is committed. `applied` is the position that this node has reached."""

    def __init__(self, inner: Writer, stream: Stream, link: Link, clock: JournalClock, timeout: float) -> None:
        self._inner = inner
        self.stream = stream
        self._link = link
        self._clock = clock
        self._timeout = timeout
        self._thread = ThreadPoolExecutor(1, f"dex-apply-{stream.name}")
        self._waiting: dict[str, Sending] = {}
        self._reached = threading.Condition()
        self._barriers = Barriers(self._begin_barrier)
        self._tasks: list[Future[None]] = []
        self._outbox = Outbox(link, stream.subject, stream.committed)
        self._id = uuid4().hex
        self._numbers = count(1)
        self._applying = Outage(f"applying {stream.name}")
        # Why what is committed is not applied here now: the file is busy, or its disk full.
        self.hindered: Unavailable | None = None
        self._applying_since: float | None = None
        self.fault: BaseException | None = None
        self.applied = 0
        self.writes = 0
        # Who owns the partition at the position that was applied.
        self.owner = Owner(0, "", "")
        # Gives the epoch in which this node owns the partition, or raises Unavailable.
        self.epoch: Callable[[], int] = _no_owner

    def start(self) -> None:
        """Begin to apply what the stream has."""
        found: list[Position] = []

        def look(connection: sqlite3.Connection, _catalog: catalog.Catalog, _head: journal.Head) -> bool:
            found.append(last_position(connection))
            self.owner = owner(connection)
            return False

        self._inner.run(look)
        self.applied = found[-1].seq
        self._tasks = [
            self._link.submit(self.stream.read(found[-1], self._on_batch)),
            self._link.submit(self._outbox.run()),
        ]
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
        records: list[tuple[bytes, int]] = []
        for mutation in mutations:
            try:
                epoch = 0 if type(mutation) in MUTATIONS else self.epoch()
                records.append((self._encode(journal.encode_record(mutation), epoch), len(results)))
                results.append(None)
            except DexError as error:
                results.append(error)
        if not records:
            return results
        sent = self._send([data for data, _ in records], deadline)
        for (_, place), verdict in zip(records, self._wait(sent, deadline), strict=True):
            results[place] = verdict
        return results

    @property
    def lags(self) -> bool:
        """Whether this node cannot apply now what is committed, or not as fast as it comes."""
        since = self._applying_since
        is_slow = since is not None and time.monotonic() - since > _SLOW_SECONDS
        return is_slow or self.hindered is not None or self.stream.last_seq - self.applied > _MOST_BEHIND

    def take_over(self, record: OwnerChanged, seconds: float) -> None:
        """Tell all nodes that this one owns the partition, and wait until it has applied all that came before.

        Raises:
            Unavailable: that did not come about in time, or another node was first.
        """
        deadline = time.monotonic() + seconds
        (verdict,) = self._wait(self._publish(journal.encode_record(record), deadline, 0), deadline)
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
        """End applying and close the file."""
        for task in self._tasks:
            task.cancel()
        self._thread.shutdown()
        for sending in list(self._waiting.values()):
            sending.give(may_be_applied("the engine is closed, and the write may still be committed"))
        self._inner.close()

    def _encode(self, record: bytes, epoch: int) -> bytes:
        return self.stream.encode(Message(self._clock.now_ms(), record, epoch))

    def _send(self, messages: Sequence[bytes], deadline: float) -> Verdicts:
        """Begin to publish messages, and give what their verdicts will be in."""
        verdicts = Verdicts(len(messages))
        sendings = [
            Sending(f"{self._id}-{next(self._numbers)}", data, deadline, verdicts, place)
            for place, data in enumerate(messages)
        ]

        def forget(_done: object) -> None:
            for sending in sendings:
                del self._waiting[sending.message_id]

        self._waiting.update((sending.message_id, sending) for sending in sendings)
        verdicts.done.add_done_callback(forget)
        if self.fault is not None:
            verdicts.give_missing(Unavailable(f"{self._stopped()}: nothing was sent", "ask another node"))
            return verdicts
        self._outbox.put(sendings)
        return verdicts

    def _publish(self, record: bytes, deadline: float, epoch: int) -> Verdicts:
        """Begin to publish a record, and give what its verdict will be in."""
        return self._send([self._encode(record, epoch)], deadline)

    def _begin_barrier(self) -> Verdicts:
        return self._publish(NOTHING, time.monotonic() + self._timeout, 0)

    def _wait(self, verdicts: Verdicts, deadline: float) -> list[Any | DexError]:
        """Give the verdicts; what this node has not applied in time is Unavailable."""
        try:
            return verdicts.done.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            verdicts.give_missing(
                may_be_applied("this node has not applied the write in time, and it may have been committed")
            )
            return verdicts.done.result()

    async def _on_batch(self, messages: Sequence[Committed]) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                self._applying_since = time.monotonic()
                await loop.run_in_executor(self._thread, self._apply, messages)
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
        """Apply messages, and tell whoever waits, from this thread: the loop's would be one more to wake up."""
        verdicts: list[Any | DexError] = []
        owners: list[Owner] = []

        def work(connection: sqlite3.Connection, known: catalog.Catalog, head: journal.Head) -> bool:
            verdicts[:] = apply_messages(connection, known, head, messages, self.stream.name)
            owners[:] = [owner(connection)]
            return False

        self._inner.run(work)
        self.owner = owners[-1]
        with self._reached:
            self.applied = messages[-1].seq
            self._reached.notify_all()
        for message, verdict in zip(messages, verdicts, strict=True):
            sending = self._waiting.get(message.message_id)
            if sending is not None:
                self._clock.heard(message.at, message.taken_at)
                sending.give(verdict)

    def _ended(self, task: "Future[None]") -> None:
        """Keep why this node does not go on with the stream, and tell whoever waits: it applies nothing any more."""
        if task.cancelled():
            return
        self.fault = task.exception()
        _log.error("%s", self._stopped())
        for sending in list(self._waiting.values()):
            sending.give(may_be_applied(f"{self._stopped()}, and the write may be committed"))

    def _stopped(self) -> str:
        return f"this node does not go on with {self.stream.name}: {self.fault}"


def _no_owner() -> int:
    raise not_owner()
