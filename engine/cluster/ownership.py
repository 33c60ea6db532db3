"""Which node works the Flows of which partition: each has one owner, by a lease (spec: K-05, K-09).

A node that takes a lease tells so in the partition's journal before it acts, and has applied all that came before
then. One that lost its lease stops at once by its own clock; what it still had under way is refused by every node.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import Any
from uuid import uuid4

import msgspec

from dex.engine.cluster.balancing import Balance
from dex.engine.cluster.leases import Found, Holder, Lease, Leases
from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.partition import Partition
from dex.engine.owner import OwnerChanged, not_owner
from dex.wcl.errors import DexError, Refused, Unavailable

_log = logging.getLogger("dex.cluster")

# How often each lease is looked at. Who owns much already looks away longer, so that partitions spread; shorter where
# a lease was just given back.
_LOOK_SECONDS = 0.5
_MODESTY_SECONDS = 0.4
_GIVEN_LOOK_SECONDS = 0.03
_GIVEN_MODESTY_SECONDS = 0.1
_GIVEN_FOR_SECONDS = 1.0
# How long a node that vanished is told of.
_MEMBER_SECONDS = 86_400.0
_ANSWER_SECONDS = 0.8
_OTHER_SECONDS = 0.05
# For how many leases nothing has changed before a partition is handed over to a node that owns fewer.
_SETTLED_LEASES = 2
_CLOSE_SECONDS = 10.0


class Ownership:
    """Takes and keeps the leases of a node, one task for each partition."""

    def __init__(self, link: Link, leases: Leases, node: str, url: str, partitions: Sequence[Partition]) -> None:
        self._link = link
        self._leases = leases
        self._holder = Holder(node=node, url=url, process=uuid4().hex)
        self._partitions = partitions
        self._threads = ThreadPoolExecutor(len(partitions) + 1, "dex-ownership")
        self._held = [leases.lease(f"partition.{part.number}") for part in partitions]
        self._known: list[Holder | None] = [None] * len(partitions)
        self._acting = [False] * len(partitions)
        self._taking = 0
        self._name = leases.lease(f"node.{node}")
        self._member = f"member.{node}"
        self._naming = asyncio.Lock()
        self._has_left = False
        self._tasks: list[Any] = []
        self._members: list[Holder] = [self._holder]
        self._wakes = [asyncio.Event() for _ in partitions]
        self._given_until = [0.0] * len(partitions)
        self._handing: set[int] = set()
        self._ungiven: set[int] = set()
        self._balance = Balance(node, leases.seconds * _SETTLED_LEASES)
        self._ceding: set[int] = set()
        self._left_to_others_until = [0.0] * len(partitions)
        self.draining = False
        self.on_change: Callable[[Partition, bool], None] = lambda _part, _owns: None
        for part, lease in zip(partitions, self._held, strict=True):
            part.writer.epoch = self._epoch_of(lease)

    def start(self) -> None:
        """Take this node's name, then whatever partition nobody owns.

        Raises:
            Refused: another process has the name.
            Unavailable: the journal servers do not answer.
        """
        self._link.insist(self._take_name, self._leases.seconds + 10)
        self._tasks.append(self._link.submit(self._keep_name()))
        self._link.call(self._leases.on_given("partition", self._given), self._leases.seconds)
        for part in self._partitions:
            self._tasks.append(self._link.submit(self._keep(part)))

    def owns(self, number: int) -> bool:
        """Tell whether this node may act as the owner of a partition."""
        return self._acting[number] and self._held[number].is_held

    def owner(self, number: int) -> Holder | None:
        """Give who owns a partition, as this node last saw it."""
        return self._known[number]

    def wait_for_other(self, number: int, seen: Holder | None, seconds: float) -> None:
        """Wait some seconds, or until a partition has another owner than one that was seen."""
        deadline = time.monotonic() + seconds
        while self.owner(number) == seen and time.monotonic() < deadline:
            time.sleep(_OTHER_SECONDS)

    def epoch(self, number: int) -> int:
        """Give the epoch in which this node owns a partition, 0 where it does not."""
        return self._held[number].epoch if self.owns(number) else 0

    def lease(self, number: int) -> Lease:
        """Give the lease of a partition, held by this node or not."""
        return self._held[number]

    @property
    def is_heard(self) -> bool:
        """Tell whether the journal servers have lately written what this node sent."""
        return self._name.is_held

    @property
    def unheard(self) -> float:
        """How many seconds ago this node sent the last of its own writes that the journal servers have written."""
        return max(0.0, time.monotonic() - self._name.until + self._name.seconds)

    def members(self) -> tuple[list[Holder], bool]:
        """Give the nodes that run, and those that vanished within a day without being stopped.

        The flag tells whether the journal servers answer, and have lately written what this node sent; where not, the
        nodes are those that were known before.
        """
        try:
            self._link.call(self._look_at_members(), _ANSWER_SECONDS)
        except (DexError, *LINK_ERRORS) as error:
            _log.debug("the nodes are not known now: %s", error)
            return self._members, False
        return self._members, self.is_heard

    def drain(self, seconds: float) -> list[int]:
        """Hand all partitions over and take none any more; what is under way is finished (spec: K-09).

        Gives which they were.

        Raises:
            Unavailable: that took too long, or the journal servers did not take note of it.
        """
        handed = [part.number for part in self._partitions if self._acting[part.number]]
        self._handing |= set(handed)
        self.draining = True
        self._link.loop.call_soon_threadsafe(self._wake_all)
        deadline = time.monotonic() + seconds
        while self._handing or any(self._acting):
            if time.monotonic() > deadline:
                raise Unavailable("some partitions are not handed over yet", "see `dex cluster status`")
            time.sleep(0.01)
        unheard = [number for number in handed if number in self._ungiven]
        if unheard:
            raise Unavailable(
                f"the journal servers took no note that partitions {unheard} are given up",
                f"other nodes own them {self._leases.seconds:g} s after those answer again at the latest",
            )
        return handed

    def close(self) -> None:
        """Hand all partitions over and give the name back."""
        try:
            if self._tasks:
                self.drain(_CLOSE_SECONDS)
                self._link.call(self._leave(), _CLOSE_SECONDS)
        except (DexError, *LINK_ERRORS) as error:
            _log.info("leases are not given back: %s", error)
        for task in self._tasks:
            task.cancel()
        self._threads.shutdown()

    def _wake_all(self) -> None:
        for wake in self._wakes:
            wake.set()

    def _given(self, key: str) -> None:
        """Look at a partition that somebody has given back: several times, as it may not be committed yet."""
        number = int(key.rpartition(".")[2])
        if number < len(self._partitions) and not self._acting[number]:
            self._given_until[number] = time.monotonic() + _GIVEN_FOR_SECONDS
            self._wakes[number].set()

    def _epoch_of(self, lease: Lease) -> Callable[[], int]:
        def epoch() -> int:
            if not lease.is_held:
                raise not_owner()
            return lease.epoch

        return epoch

    async def _take_name(self) -> None:
        """Take the name; that of a process that has just ended is free after its time."""
        deadline = time.monotonic() + self._leases.seconds + 2
        while True:
            found = await self._leases.read(f"node.{self._holder.node}")
            if found.holder is None and await self._name.take(self._holder, expected=found.revision):
                await self._leases.tell(self._member, self._holder, _MEMBER_SECONDS)
                return
            if time.monotonic() > deadline:
                where = found.holder.url if found.holder is not None else "another process"
                raise Refused(
                    f"the node name {self._holder.node!r} is in use by {where}",
                    "choose another --node, or stop that one",
                )
            await asyncio.sleep(_LOOK_SECONDS)

    async def _retake_name(self) -> None:
        """Take the name again that has ended while the journal servers did not answer."""
        found = await self._leases.read(f"node.{self._holder.node}")
        if not self._is_free(found) or not await self._name.take(self._holder, expected=found.revision):
            _log.error("the node name %r is in use by another process as well: stop one of them", self._holder.node)

    def _is_free(self, found: Found) -> bool:
        """Tell whether a key is nobody's, or this process's own, which has lost count of its renewals."""
        return found.holder is None or found.holder.process == self._holder.process

    async def _look_at_members(self) -> None:
        found = await self._leases.under("member")
        others = [holder for holder in found if holder.node != self._holder.node]
        self._members = sorted([*others, self._holder], key=attrgetter("node"))

    async def _keep_name(self) -> None:
        outage = Outage("the journal servers do not take what this node tells them")
        while True:
            await asyncio.sleep(self._leases.seconds / 3)
            async with self._naming:
                if self._has_left:
                    return
                try:
                    holder = msgspec.structs.replace(self._holder, takes=self._takes)
                    if not await self._name.renew(holder):
                        await self._retake_name()
                    await self._leases.tell(self._member, self._holder, _MEMBER_SECONDS)
                    await self._look_at_members()
                    await self._share()
                    outage.is_over()
                except LINK_ERRORS as error:
                    outage.goes_on(in_words(error))
                    if not self.is_heard:
                        # Nothing that was sent for a whole lease was committed: another server may reach a quorum.
                        await self._link.move()

    @property
    def _takes(self) -> bool:
        return not self.draining and all(part.writer.fault is None for part in self._partitions)

    async def _share(self) -> None:
        """Hand a partition over where another node owns two fewer."""
        takers = {holder.node for holder in await self._leases.under("node") if holder.takes}
        owners = [None if holder is None else holder.node for holder in self._known]
        number = self._balance.surplus(owners, takers)
        if number is not None and self._acting[number]:
            _log.info("partition %d is left to a node that owns fewer", number)
            self._ceding.add(number)
            self._wakes[number].set()

    async def _keep(self, part: Partition) -> None:
        """Take the lease of a partition when it is free, and keep it."""
        lease = self._held[part.number]
        while True:
            try:
                rest = await self._look(part, lease)
            except LINK_ERRORS as error:
                _log.debug("the lease of partition %d: %s", part.number, in_words(error))
                rest = _LOOK_SECONDS
            except Exception:  # noqa: BLE001  # a task that ended would keep its partition from everybody
                _log.exception("the lease of partition %d", part.number)
                rest = _LOOK_SECONDS
            if self._acting[part.number] and not lease.is_held:
                await self._in_thread(self._step_down, part)
            await self._rest(part.number, rest)

    async def _rest(self, number: int, seconds: float) -> None:
        """Wait some seconds, or until there is something to look at."""
        wake = self._wakes[number]
        try:
            async with asyncio.timeout(seconds):
                await wake.wait()
        except TimeoutError:
            return
        wake.clear()

    async def _look(self, part: Partition, lease: Lease) -> float:
        """Renew, take or leave a lease; give how long to rest."""
        number = part.number
        if self._acting[number]:
            if self.draining or part.writer.fault is not None or number in self._ceding:
                await self._hand_over(part, lease)
                return _LOOK_SECONDS
            await lease.renew(self._holder)
            if lease.is_held and lease.epoch != part.writer.owner.epoch:
                # What another node sent while it had the lease, and was committed after this one took over.
                await self._in_thread(self._step_down, part)
                await self._in_thread(self._step_up, part, lease)
            return min(self._leases.seconds / 5, _LOOK_SECONDS * 2)
        found = await self._leases.read(f"partition.{number}")
        self._known[number] = _with_epoch(found)
        given = time.monotonic() < self._given_until[number]
        look = _GIVEN_LOOK_SECONDS if given else _LOOK_SECONDS
        if not self._is_free(found) or not self._may_take(part):
            return look
        self._taking += 1
        try:
            await asyncio.sleep(
                (_GIVEN_MODESTY_SECONDS if given else _MODESTY_SECONDS) * (sum(self._acting) + self._taking - 1)
            )
            if await lease.take(self._holder, expected=found.revision):
                await self._in_thread(self._step_up, part, lease)
        finally:
            self._taking -= 1
        return _GIVEN_LOOK_SECONDS

    def _may_take(self, part: Partition) -> bool:
        is_left = time.monotonic() < self._left_to_others_until[part.number]
        return not is_left and not self.draining and part.writer.fault is None

    async def _hand_over(self, part: Partition, lease: Lease) -> None:
        if part.number in self._ceding:
            self._ceding.discard(part.number)
            self._left_to_others_until[part.number] = time.monotonic() + self._leases.seconds
        try:
            await self._in_thread(self._step_down, part)
            self._ungiven.add(part.number)
            await lease.give()
            self._ungiven.discard(part.number)
        finally:
            self._handing.discard(part.number)

    async def _in_thread(self, work: Callable[..., None], *arguments: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def _step_up(self, part: Partition, lease: Lease) -> None:
        """Tell the journal, then act as the owner."""
        lease.move_above(part.writer.owner.epoch)
        try:
            part.writer.take_over(OwnerChanged(epoch=lease.epoch, node=self._holder.node, url=self._holder.url))
        except DexError as error:
            _log.warning("partition %d is not taken over: %s", part.number, error)
            return
        if lease.is_held:
            self._known[part.number] = self._holder
            self._acting[part.number] = True
            _log.info("partition %d is owned by this node from epoch %d", part.number, lease.epoch)
            self.on_change(part, True)  # noqa: FBT003  # the one thing that it tells

    def _step_down(self, part: Partition) -> None:
        self._acting[part.number] = False
        self._known[part.number] = None
        _log.info("partition %d is not owned by this node any more", part.number)
        self.on_change(part, False)  # noqa: FBT003  # as above

    async def _leave(self) -> None:
        async with self._naming:
            self._has_left = True
            await self._leases.tell(self._member, None, 1)
            if self._name.is_held:
                await self._name.give()


def _with_epoch(found: Found) -> Holder | None:
    """Give a holder with its epoch: before it has renewed, that is the revision."""
    if found.holder is None or found.holder.epoch:
        return found.holder
    return msgspec.structs.replace(found.holder, epoch=found.revision)
