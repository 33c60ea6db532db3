"""Keys of a bucket that one process holds for a while: who owns a partition, and which names are in use (spec: K-05).

The revision at which a lease was taken only ever rises, so it is an epoch. A lease is judged by its holder's own
monotonic clock, from before it was asked for.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import nats.js.errors
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import api

from dex.engine.cluster.link import Link

_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
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
        self._replicas = replicas
        self.seconds = seconds
        self.name = f"{cluster}-leases"

    async def make(self) -> None:
        """Make the bucket where there is none."""
        try:
            await self._link.js.stream_info(self.name)
        except nats.js.errors.NotFoundError:
            await self._link.js.add_stream(
                api.StreamConfig(
                    name=self.name,
                    subjects=[f"{self.name}.>"],
                    num_replicas=self._replicas,
                    storage=api.StorageType.FILE,
                    max_msgs_per_subject=1,
                    discard=api.DiscardPolicy.OLD,
                    allow_msg_ttl=True,
                )
            )

    def lease(self, key: str) -> Lease:
        """Give a key to be taken."""
        return Lease(self, key)

    async def write(self, key: str, holder: Holder, *, expected: int) -> int | None:
        """Write a key whose revision is as expected, for `seconds`; give the new revision, None where it is another.

        Raises:
            TimeoutError, NatsError: nobody knows.
        """
        headers = {_EXPECTED: str(expected), "Nats-TTL": f"{max(1, round(self.seconds))}s"}
        return await self._publish(key, msgspec.json.encode(holder), headers)

    async def tell(self, key: str, holder: Holder | None, seconds: float) -> None:
        """Write a key whatever it holds, for some seconds; `None` says that it holds nobody.

        Raises:
            TimeoutError, NatsError: nobody knows.
        """
        data = b"" if holder is None else msgspec.json.encode(holder)
        await self._publish(key, data, {"Nats-TTL": f"{max(1, round(seconds))}s"})

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
        await self._publish(key, b"", {_EXPECTED: str(expected), "Nats-TTL": "1s"})

    async def _publish(self, key: str, data: bytes, headers: dict[str, str]) -> int | None:
        try:
            answer = await self._link.js.publish(f"{self.name}.{key}", data, timeout=_TRY_SECONDS, headers=headers)
        except nats.js.errors.APIError as error:
            if error.err_code in (10071, 10164):
                return None
            raise
        return int(answer.seq)

    async def read(self, key: str) -> Found:
        """Give what a key holds, as one of the servers has it.

        Raises:
            TimeoutError, NatsError: none of them answers.
        """
        try:
            message = await self._link.js.get_last_msg(self.name, f"{self.name}.{key}")
        except nats.js.errors.NotFoundError:
            return Found(None, 0)
        holder = msgspec.json.decode(message.data, type=Holder) if message.data else None
        return Found(holder, message.seq or 0)


LINK_ERRORS = (TimeoutError, NatsError, OSError)
"""What calls of the journal servers raise where nobody answers."""
