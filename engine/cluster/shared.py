"""What the nodes of a cluster share besides the journal: small values by key, in a stream of their own."""

import nats.js.errors

from dex.engine.cluster.bucket import Bucket
from dex.engine.cluster.link import Link

_TRY_SECONDS = 5.0


class Shared(Bucket):
    """Values that stay."""

    def __init__(self, link: Link, cluster: str, replicas: int) -> None:
        super().__init__(link, f"{cluster}-settings", replicas, _TRY_SECONDS, deny_delete=True)

    async def find(self, key: str) -> bytes | None:
        """Give a value, None where neither it nor the stream is there."""
        try:
            found = await self.read(key)
        except nats.js.errors.NotFoundError:
            return None
        return found.data if found.revision else None

    async def once(self, key: str, data: bytes) -> bytes:
        """Give a value that never changes: the first to ask makes it."""
        found = await self.read(key)
        if found.revision:
            return found.data
        if await self.write(key, data, expected=0) is not None:
            return data
        raise TimeoutError(f"{key} was just made, and is not told yet")
