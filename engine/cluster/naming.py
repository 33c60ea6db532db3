"""New names of stores, which one node at a time gives.

A store lives with its feed, so that two nodes could place two stores of one name in two partitions at one moment.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from uuid import uuid4
from zlib import crc32

from dex.engine.cluster.leases import Holder, Leases
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
    def alone(self, name: str, seconds: float) -> Iterator[None]:
        """Be the only one of all nodes to make a store of this name meanwhile.

        Raises:
            Unavailable: others are at it for longer than some seconds, or the journal servers do not answer.
        """
        held = AsyncExitStack()
        try:
            try:
                self._link.call(self._take(held, name, time.monotonic() + seconds), seconds + _MARGIN_SECONDS)
            except LINK_ERRORS as error:
                raise Unavailable(
                    f"the name {name!r} could not be taken from the journal servers: {in_words(error)}",
                    "try again later",
                ) from error
            yield
        finally:
            self._link.submit(held.aclose())

    async def _take(self, held: AsyncExitStack, name: str, deadline: float) -> None:
        # Any text can be a name, and only some can be keys; two names that share a key wait for each other.
        key = f"name.{crc32(name.encode('utf-8', 'surrogatepass')):08x}"
        holder = Holder(node=self._node, url="", process=uuid4().hex)
        failed: BaseException | None = None
        while time.monotonic() < deadline:
            try:
                if await held.enter_async_context(self._leases.held(key, holder)):
                    return
            except LINK_ERRORS as error:
                failed = error
            await asyncio.sleep(_RETRY_SECONDS)
        raise failed or TimeoutError
