"""Keys of a bucket that one process holds for a while: who owns a partition, and which names are in use (spec: K-05).

The revision at which a lease was taken rises as long as there is the bucket, so it is an epoch. A bucket that was lost
counts anew; then the epoch is moved above the last one that the journal knows. A lease is judged by its holder's own
monotonic clock, from before it was asked for.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple, TypeVar

import msgspec
import nats.js.errors
from nats.aio.msg import Msg

from dex.engine.cluster.bucket import Bucket
from dex.engine.cluster.link import LINK_ERRORS, Link

R = TypeVar("R")

_log = logging.getLogger("dex.cluster")
_TRY_SECONDS = 2.0
# More than the renewals of one ownership, each of which is a token for the tables of sync.
_STEP = 1_000_000_000
_GONE = (nats.js.errors.NotFoundError, nats.js.errors.NoStreamResponseError)


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a key: a node, where it is reached, and which process of it.

    `epoch` is 0 until it is known; `takes` tells whether the node takes partitions.
    """

    node: str
    url: str
    process: str
    epoch: int = 0
    takes: bool = True


class Found(NamedTuple):
    """Who holds a key, and its revision; nobody, where it was given back or never taken."""

    holder: Holder | None
    revision: int


class Lease:
    """One key, as this process sees it: the epoch it was taken in, the revision of the last renewal, and its end.

    `token` rises with each renewal, and is above all of those who held the key before.
    """

    def __init__(self, bucket: "Leases", key: str) -> None:
        self._bucket = bucket
        self._key = key
        self._moved_by = 0
        self.revision = 0
        self.until = 0.0
        self.epoch = 0

    @property
    def seconds(self) -> float:
        """How long it lasts without renewal."""
        return self._bucket.seconds

    @property
    def token(self) -> int:
        """The revision of the last renewal, moved as the epoch is."""
        return self.revision + self._moved_by

    def move_above(self, newest: int) -> None:
        """Move an epoch that is not above the newest one of the journal: the bucket was lost, and counts anew."""
        if self.epoch <= newest:
            self._moved_by = newest + _STEP - self.revision
            self.epoch = self.token

    @property
    def is_held(self) -> bool:
        """Tell whether this process surely holds the key."""
        return time.monotonic() < self.until

    @property
    def is_kept(self) -> bool:
        """Tell whether this process holds the key for a while yet, as its renewals have come through."""
        return self.until - time.monotonic() > self.seconds / 2

    async def take(self, holder: Holder, *, expected: int) -> bool:
        """Take the key where its revision is still the expected one, at which nobody held it.

        Raises:
            TimeoutError, NatsError: nobody knows whether that worked; the key is free again after its time.
        """
        asked = time.monotonic()
        revision = await self._bucket.write(self._key, holder, expected=expected)
        if revision is None:
            return False
        self._moved_by = 0
        self.epoch = self.revision = revision
        self.until = asked + self._bucket.seconds
        return True

    async def renew(self, holder: Holder) -> bool:
        """Hold the key for another while; False where another process has it.

        Raises:
            TimeoutError, NatsError: as `take`; the key is held until its time is over.
        """
        asked = time.monotonic()
        told = msgspec.structs.replace(holder, epoch=self.epoch)
        revision = await self._bucket.write(self._key, told, expected=self.revision)
        if revision is None:
            self.until = 0.0
            return False
        self.revision = revision
        self.until = asked + self._bucket.seconds
        return True

    async def give(self) -> None:
        """Let the key go at once."""
        self.until = 0.0
        await self._bucket.delete(self._key, expected=self.revision)


class Leases:
    """A bucket of leases that last `seconds`."""

    def __init__(self, link: Link, cluster: str, replicas: int, seconds: float) -> None:
        self._link = link
        self.seconds = seconds
        self.name = f"{cluster}-leases"
        self._bucket = Bucket(link, self.name, replicas, _TRY_SECONDS, allow_msg_ttl=True)

    async def make(self) -> None:
        """Make the bucket where there is none."""
        await self._bucket.make()

    async def _lasting(self, work: Callable[[], Awaitable[R]]) -> R:
        """Do some work on the bucket, which is made anew first where somebody has deleted it meanwhile."""
        try:
            return await work()
        except _GONE:
            if await self._bucket.make():
                _log.warning("stream %s was lost, and is made anew: who owns what is settled again", self.name)
            return await work()

    def lease(self, key: str) -> Lease:
        """Give a key to be taken."""
        return Lease(self, key)

    @asynccontextmanager
    async def held(self, key: str, holder: Holder) -> AsyncIterator[Lease | None]:
        """Hold a key meanwhile, or give None where somebody else does. It may be lost before the end.

        Raises:
            TimeoutError, NatsError: as `Lease.take`.
        """
        found = await self.read(key)
        lease = self.lease(key)
        if found.holder is not None or not await lease.take(holder, expected=found.revision):
            yield None
            return
        keeping = asyncio.create_task(self._keep(lease, holder))
        try:
            yield lease
        finally:
            keeping.cancel()
            with suppress(*LINK_ERRORS):
                await lease.give()

    async def _keep(self, lease: Lease, holder: Holder) -> None:
        while True:
            await asyncio.sleep(self.seconds / 3)
            with suppress(*LINK_ERRORS):
                await lease.renew(holder)

    async def write(self, key: str, holder: Holder, *, expected: int) -> int | None:
        """Write a key whose revision is as expected, for `seconds`; give the new revision, None where it is another.

        Raises:
            TimeoutError, NatsError: nobody knows.
        """
        data = msgspec.json.encode(holder)
        return await self._lasting(lambda: self._bucket.write(key, data, expected=expected, lasts=self.seconds))

    async def tell(self, key: str, holder: Holder | None, seconds: float) -> None:
        """Write a key whatever it holds, for some seconds; `None` says that it holds nobody.

        Raises:
            TimeoutError, NatsError: nobody knows.
        """
        data = b"" if holder is None else msgspec.json.encode(holder)
        await self._lasting(lambda: self._bucket.write(key, data, lasts=seconds))

    async def under(self, prefix: str) -> list[Holder]:
        """Give all holders of keys that begin with a prefix, in order of their names.

        Raises:
            TimeoutError, NatsError: none of the servers answers.
        """
        subjects = f"{self.name}.{prefix}.>"
        known = await self._lasting(lambda: self._link.js.stream_info(self.name, subjects_filter=subjects))
        keys = sorted(subject.removeprefix(f"{self.name}.") for subject in known.state.subjects or ())
        found = [await self.read(key) for key in keys]
        return [each.holder for each in found if each.holder is not None]

    async def on_given(self, prefix: str, told: Callable[[str], None]) -> None:
        """Have `told` called with a key that begins with a prefix, whenever its holder gives it back.

        Raises:
            NatsError: the connection is closed.
        """

        async def look(message: Msg) -> None:
            if not message.data:
                told(message.subject.removeprefix(f"{self.name}."))

        await self._link.nc.subscribe(f"{self.name}.{prefix}.>", cb=look)

    async def delete(self, key: str, *, expected: int) -> None:
        """Empty a key: it stays for a second, which is the shortest there is."""
        await self._bucket.write(key, b"", expected=expected, lasts=1)

    async def read(self, key: str) -> Found:
        """Give what a key holds, as one of the servers has it.

        Raises:
            TimeoutError, NatsError: none of them answers.
        """
        value = await self._lasting(lambda: self._bucket.read(key))
        holder = msgspec.json.decode(value.data, type=Holder) if value.data else None
        return Found(holder, value.revision)
