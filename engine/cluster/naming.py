"""New names of stores, which one node at a time gives.

A store lives with its feed, so that two nodes could place two stores of one name in two partitions at one moment.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from uuid import uuid4
from zlib import crc32

from dex.engine.cluster.leases import Holder, Lease, Leases
from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.wcl.errors import Unavailable

_RETRY_SECONDS = 0.02
_MARGIN_SECONDS = 5.0


class Naming:
    """A lease for each name, held while a store of that name is looked for and made."""

    def __init__(self, link: Link, leases: Leases, node: str) -> None:
        self._link = link
        self._leases = leases
        self._node = node

    @contextmanager
    def alone(self, name: str, seconds: float) -> Iterator[Callable[[], None]]:
        """Be the only one of all nodes to make a store of this name meanwhile.

        Gives what is to be called right before it is made: it raises Unavailable where another node may be at it by
        then, as what was asked for before took too long.

        Raises:
            Unavailable: others are at it for longer than some seconds, or the journal servers do not answer.
        """
        held = AsyncExitStack()
        try:
            try:
                taking = self._take(held, name, time.monotonic() + seconds)
                lease = self._link.call(taking, seconds + _MARGIN_SECONDS)
            except LINK_ERRORS as error:
                raise Unavailable(
                    f"the name {name!r} could not be taken from the journal servers: {in_words(error)}",
                    "try again later",
                ) from error

            def check() -> None:
                if not lease.is_kept:
                    raise Unavailable(f"the name {name!r} was taken for too long; nothing was made", "try again")

            yield check
        finally:
            self._link.submit(held.aclose())

    async def _take(self, held: AsyncExitStack, name: str, deadline: float) -> Lease:
        # Any text can be a name, and only some can be keys; two names that share a key wait for each other.
        key = f"name.{crc32(name.encode('utf-8', 'surrogatepass')):08x}"
        holder = Holder(node=self._node, url="", process=uuid4().hex)
        failed: BaseException | None = None
        while time.monotonic() < deadline:
            try:
                lease = await held.enter_async_context(self._leases.held(key, holder))
                if lease is not None:
                    return lease
            except LINK_ERRORS as error:
                failed = error
            await asyncio.sleep(_RETRY_SECONDS)
        raise failed or TimeoutError
