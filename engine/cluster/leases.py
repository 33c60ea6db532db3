"""Keys of a bucket that one process holds for a while: who owns a partition, and which names are in use (spec: K-05).

The revision at which a lease was taken only ever rises, so it is an epoch. A lease is judged by its holder's own
monotonic clock, from before it was asked for.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

import msgspec
from nats.aio.msg import Msg

from dex.engine.cluster.bucket import Bucket
from dex.engine.cluster.link import LINK_ERRORS, Link

_TRY_SECONDS = 2.0


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a key: a node, where it is reached, and which process of it. `epoch` is 0 until it is known."""

    node: str
    url: str
    process: str
    epoch: int = 0


class Found(NamedTuple):
    """Who holds a key, and its revision; nobody, where it was given back or never taken."""

    holder: Holder | None
    revision: int


class Lease:
    """One key, as this process sees it: the epoch it was taken in, the revision of the last renewal, and its end."""

    def __init__(self, bucket: "Leases", key: str) -> None:
        self._bucket = bucket
        self._key = key
        self.revision = 0
        self.epoch = 0
        self.until = 0.0

    @property
    def seconds(self) -> float:
        """How long it lasts without renewal."""
        return self._bucket.seconds

    @property
    def is_held(self) -> bool:
        """Tell whether this process surely holds the key."""
        return time.monotonic() < self.until

    async def take(self, holder: Holder, *, expected: int) -> bool:
        """Take the key where its revision is still the expected one, at which nobody held it.

        Raises:
            TimeoutError, NatsError: nobody knows whether that worked; the key is free again after its time.
        """
        asked = time.monotonic()
        revision = await self._bucket.write(self._key, holder, expected=expected)
        if revision is None:
            return False
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

    def lease(self, key: str) -> Lease:
        """Give a key to be taken."""
        return Lease(self, key)

    @asynccontextmanager
    async def held(self, key: str, holder: Holder) -> AsyncIterator[bool]:
        """Hold a key meanwhile, or tell that somebody else does.

        Raises:
            TimeoutError, NatsError: as `Lease.take`.
        """
        found = await self.read(key)
        lease = self.lease(key)
        if found.holder is not None or not await lease.take(holder, expected=found.revision):
            yield False
            return
        keeping = asyncio.create_task(self._keep(lease, holder))
        try:
            yield True
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
        return await self._bucket.write(key, msgspec.json.encode(holder), expected=expected, lasts=self.seconds)

    async def tell(self, key: str, holder: Holder | None, seconds: float) -> None:
        """Write a key whatever it holds, for some seconds; `None` says that it holds nobody.

        Raises:
            TimeoutError, NatsError: nobody knows.
        """
        data = b"" if holder is None else msgspec.json.encode(holder)
        await self._bucket.write(key, data, lasts=seconds)

    async def under(self, prefix: str) -> list[Holder]:
        """Give all holders of keys that begin with a prefix, in order of their names.

        Raises:
            TimeoutError, NatsError: none of the servers answers.
        """
        known = await self._link.js.stream_info(self.name, subjects_filter=f"{self.name}.{prefix}.>")
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
        value = await self._bucket.read(key)
        holder = msgspec.json.decode(value.data, type=Holder) if value.data else None
        return Found(holder, value.revision)
