"""Waiting for a commit, whichever process makes it, without a thread or a look of one's own."""

import asyncio
from collections.abc import Awaitable, Callable

_POLL_SECONDS = 0.02


class JournalWatch:
    """One look at the journal's position every few ms, for all who wait; none while nobody does.

    Belongs to one event loop. `look` gives the position; once `stopping` is set nobody waits any more.
    """

    def __init__(self, look: Callable[[], Awaitable[int]], stopping: asyncio.Event) -> None:
        self._look = look
        self._stopping = stopping
        self._watching: asyncio.Task[None] | None = None
        self.seen = 0
        self.waiting = 0

    async def beyond(self, position: int) -> None:
        """Wait until the journal is beyond a position, or the server is being stopped.

        Whoever takes `seen` before a read and hands it over after it misses nothing.

        Raises:
            DexError: as `look`.
        """
        self.waiting += 1
        try:
            while self.seen <= position and not self._stopping.is_set():
                if self._watching is None or self._watching.done():
                    self._watching = asyncio.create_task(self._watch(self.seen))
                await asyncio.shield(self._watching)
        finally:
            self.waiting -= 1

    async def _watch(self, before: int) -> None:
        while self.waiting and not self._stopping.is_set():
            self.seen = await self._look()
            if self.seen > before:
                return
            await asyncio.sleep(_POLL_SECONDS)
