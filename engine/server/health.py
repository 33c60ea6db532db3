"""Whether a server can do its work (spec: K-01)."""

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec

from dex.engine.server.dispatch import Dispatcher
from dex.engine.sqlite.connection import SCHEMA_VERSION
from dex.wcl.errors import DexError, Unavailable

if TYPE_CHECKING:
    from dex.engine.protocol import SyncSeen

# Anybody may ask, and each answer costs a commit.
_VALID_SECONDS = 1.0
_PATIENCE_SECONDS = 2.0


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """What a server that is ready tells: its file's schema, and its part in sync: owner, standby or off."""

    ready: bool = True
    schema_version: int = SCHEMA_VERSION
    sync: str = "off"


class Health:
    """Looks whether the journal can be written and sync runs, at most once a second. Belongs to one event loop."""

    def __init__(self, dispatcher: Dispatcher, syncing: "SyncSeen | None" = None) -> None:
        self._dispatcher = dispatcher
        self._syncing = syncing
        self._looking = asyncio.Lock()
        self._reasons: list[str] = []
        self._looked_at = float("-inf")

    async def readiness(self) -> Readiness:
        """Give what is to be told.

        Raises:
            Unavailable: it cannot do its work; the fact `reasons` has one line for each.
        """
        async with self._looking:
            if time.monotonic() - self._looked_at > _VALID_SECONDS:
                self._reasons = await self._look()
                self._looked_at = time.monotonic()
        if self._reasons:
            raise Unavailable(f"not ready: {'; '.join(self._reasons)}", "see the reasons", reasons=self._reasons)
        return Readiness(sync="off" if self._syncing is None else self._syncing.state)

    async def _look(self) -> list[str]:
        reasons = []
        try:
            await asyncio.to_thread(self._dispatcher.engine.probe, _PATIENCE_SECONDS)
        except DexError as error:
            reasons.append(str(error))
        if self._dispatcher.stopping.is_set():
            reasons.append("the server is stopping")
        if self._syncing is not None and self._syncing.error is not None:
            reasons.append(f"sync has ended: {self._syncing.error}")
        return reasons
