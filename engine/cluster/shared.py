"""What the nodes of a cluster share besides the journal: small values by key, in a stream of their own."""

from typing import NamedTuple

import nats.js.errors
from nats.js import api

from dex.engine.cluster.link import Link

_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_OTHER_REVISION = (10071, 10164)
_TRY_SECONDS = 5.0


class Value(NamedTuple):
    """A value and its revision, which is 0 where there is none yet."""

    data: bytes
    revision: int


class Shared:
    """Values by key. The methods raise what the journal servers' client raises, and are for `Link.insist`."""

    def __init__(self, link: Link, cluster: str, replicas: int) -> None:
        self._link = link
        self._replicas = replicas
        self.name = f"{cluster}-settings"

    async def make(self) -> None:
        """Make the stream where there is none."""
        try:
            await self._link.js.stream_info(self.name)
        except nats.js.errors.NotFoundError:
            await self._link.js.add_stream(
                api.StreamConfig(
                    name=self.name,
                    subjects=[f"{self.name}.>"],
                    num_replicas=self._replicas,
                    max_msgs_per_subject=1,
                    deny_delete=True,
                )
            )

    async def read(self, key: str) -> Value:
        """Give a value as one of the servers has it, which may be the one before."""
        try:
            message = await self._link.js.get_last_msg(self.name, f"{self.name}.{key}")
        except nats.js.errors.NotFoundError:
            return Value(b"", 0)
        return Value(message.data or b"", message.seq or 0)

    async def write(self, key: str, data: bytes, *, expected: int) -> bool:
        """Write a value whose revision is still as expected; False where it is another."""
        headers = {_EXPECTED: str(expected)}
        try:
            await self._link.js.publish(f"{self.name}.{key}", data, timeout=_TRY_SECONDS, headers=headers)
        except nats.js.errors.APIError as error:
            if error.err_code in _OTHER_REVISION:
                return False
            raise
        return True

    async def once(self, key: str, data: bytes) -> bytes:
        """Give a value that never changes: the first to ask makes it."""
        found = await self.read(key)
        if found.revision:
            return found.data
        if await self.write(key, data, expected=0):
            return data
        raise TimeoutError(f"{key} was just made, and is not told yet")
