"""Which node works the Flows of which partition: each has one owner, by a lease (spec: K-05, K-09).

A node that takes a lease tells so in the partition's journal before it acts, and has applied all that came before
then. One that lost its lease stops at once by its own clock; what it still had under way is refused by every node.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from dex.engine.cluster.balancing import Balance
from dex.engine.cluster.leases import Found, Holder, Lease, Leases
from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.engine.cluster.membership import Membership
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.partition import Partition
from dex.engine.owner import OwnerChanged, not_owner
from dex.wcl.errors import DexError, Unavailable

_log = logging.getLogger("dex.cluster")

# How often each lease is looked at. Who owns much already looks away longer, so that partitions spread; shorter where
# a lease was just given back.
_LOOK_SECONDS = 0.5
_MODESTY_SECONDS = 0.4
_GIVEN_LOOK_SECONDS = 0.03
_GIVEN_MODESTY_SECONDS = 0.1
_GIVEN_FOR_SECONDS = 1.0
_OTHER_SECONDS = 0.05
# For how many leases nothing has changed before a partition is handed over to a node that owns fewer.
_SETTLED_LEASES = 2
# What part of a lease a take-over may take: the rest is for another node, where this one does not keep up.
_TAKING_SHARE = 0.4
_CLOSE_SECONDS = 10.0


class Ownership:
    """Takes and keeps the leases of a node, one task for each partition. `membership` is its own among the nodes."""

    def __init__(self, link: Link, leases: Leases, membership: Membership, partitions: Sequence[Partition]) -> None:
        self._link = link
        self._leases = leases
        self.membership = membership
        self._holder = membership.holder
        self._partitions = partitions
        self._threads = ThreadPoolExecutor(len(partitions) + 1, "dex-ownership")
        self._held = [leases.lease(f"partition.{part.number}") for part in partitions]
        self._known: list[Holder | None] = [None] * len(partitions)
        self._acting = [False] * len(partitions)
        self._taking = 0
        self._tasks: list[Any] = []
        self._wakes = [asyncio.Event() for _ in partitions]
        self._given_until = [0.0] * len(partitions)
        self._handing: set[int] = set()
        self._ungiven: set[int] = set()
        self._balance = Balance(membership.holder.node, leases.seconds * _SETTLED_LEASES)
        self._ceding: set[int] = set()
        self._not_taken = [Outage(f"partition {part.number} is not taken over") for part in partitions]
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
        self._link.insist(self.membership.take, self._leases.seconds + 10)
        self._tasks.append(self._link.submit(self.membership.keep(self._takes, self._share)))
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
                self._link.call(self.membership.leave(), _CLOSE_SECONDS)
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

    def _takes(self) -> bool:
        return not self.draining and all(map(_is_fit, self._partitions))

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
        if not self.membership.is_free(found) or not self._may_take(part):
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
        return not is_left and not self.draining and _is_fit(part)

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
            record = OwnerChanged(epoch=lease.epoch, node=self._holder.node, url=self._holder.url)
            part.writer.take_over(record, self._leases.seconds * _TAKING_SHARE)
        except DexError as error:
            self._not_taken[part.number].goes_on(error.message)
            if part.writer.lags:
                # Another node can, and need not wait for the end of the lease.
                self._left_to_others_until[part.number] = time.monotonic() + self._leases.seconds
                self._link.submit(lease.give())
            return
        self._not_taken[part.number].is_over()
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


def _is_fit(part: Partition) -> bool:
    """Tell whether a node may own a partition: it applies what comes."""
    return part.writer.fault is None and not part.writer.lags


def _with_epoch(found: Found) -> Holder | None:
    """Give a holder with its epoch: before it has renewed, that is the revision."""
    if found.holder is None or found.holder.epoch:
        return found.holder
    return msgspec.structs.replace(found.holder, epoch=found.revision)
