"""Small values by key, in a stream that keeps the last of each."""

from typing import Any, NamedTuple

import nats.js.errors
from nats.js import api

from dex.engine.cluster.link import Link

_NO_STREAM = 10059
_OTHER_REVISION = (10071, 10164)


class Value(NamedTuple):
    """A value and its revision, which is 0 where there is none."""

    data: bytes
    revision: int


class Bucket:
    """Values by key. The methods raise what the journal servers' client raises, and are for `Link.insist`.

    `seconds` is how long one try to write may take; `options` are those of the stream.
    """

    def __init__(self, link: Link, name: str, replicas: int, seconds: float, **options: Any) -> None:
        self._link = link
        self._replicas = replicas
        self._seconds = seconds
        self._options = options
        self.name = name

    async def make(self) -> bool:
        """Make the stream where there is none; tell whether there was none."""
        return await self._link.make_stream(
            api.StreamConfig(
                name=self.name,
                subjects=[f"{self.name}.>"],
                num_replicas=self._replicas,
                max_msgs_per_subject=1,
                **self._options,
            )
        )

    async def read(self, key: str) -> Value:
        """Give a value as one of the servers has it, which may be the one before.

        Raises:
            NotFoundError: there is no such stream.
        """
        try:
            message = await self._link.js.get_last_msg(self.name, f"{self.name}.{key}")
        except nats.js.errors.NotFoundError as error:
            if error.err_code == _NO_STREAM:
                raise
            return Value(b"", 0)
        return Value(message.data or b"", message.seq or 0)

    async def write(
        self, key: str, data: bytes, *, expected: int | None = None, lasts: float | None = None
    ) -> int | None:
        """Write a value whose revision is as `expected`, if that is told; give the new one, None where it is another.

        With `lasts` the value is gone after so many seconds, one at least.
        """
        headers = {}
        if expected is not None:
            headers["Nats-Expected-Last-Subject-Sequence"] = str(expected)
        if lasts is not None:
            headers["Nats-TTL"] = f"{max(1, round(lasts))}s"
        try:
            answer = await self._link.js.publish(f"{self.name}.{key}", data, timeout=self._seconds, headers=headers)
        except nats.js.errors.APIError as error:
            if error.err_code in _OTHER_REVISION:
                return None
            raise
        return int(answer.seq)
