"""Attribute Store sync of one partition while this node owns it (spec: Y-16, Y-17, K-05)."""

import logging
import threading
from collections.abc import Callable, Mapping
from functools import cached_property

import msgspec

from dex.engine.cluster.synclease import PartitionLease
from dex.engine.flows.runtime.parts import Parts
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.service import Sync
from dex.wcl.errors import DexError

_log = logging.getLogger("dex.sync")
_RETRY_SECONDS = 5.0


class PartitionSync:
    """Writes to the stores of a configuration in a thread of its own, from now until `stop`."""

    def __init__(self, parts: Parts, config: Callable[[], SyncConfig], lease: PartitionLease) -> None:
        self._parts = parts
        self._config = config
        self._lease = lease
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dex-sync", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what is under way, and end."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        """Sync; where that cannot be begun, try again: the partition has no other node to do it.

        The configuration may have a fault by now, or a store not be reached.
        """
        while not self._stop.is_set():
            try:
                self._sync()
            except DexError as error:
                _log.warning("%s", error)
                self._stop.wait(_RETRY_SECONDS)

    def _sync(self) -> None:
        # A write must end within the lease that there is, which is the partition's.
        config = msgspec.structs.replace(self._config(), lease_duration=self._lease.seconds)
        sync = Sync(self._parts, config, self._lease)
        try:
            sync.open()
            sync.run(self._stop)
        finally:
            sync.close()


class NodeSync:
    """What a node tells of its part in sync, which is that of the partitions it owns; `error` is never set."""

    error: str | None = None

    def __init__(self, config: Callable[[], SyncConfig], running: Mapping[int, PartitionSync]) -> None:
        self._config = config
        self._running = running

    @property
    def state(self) -> str:
        """Whether it writes for some partition (owner), or would once it owns one (standby)."""
        return "owner" if self._running else "standby"

    @cached_property
    def stores(self) -> list[str]:
        """The names of the stores."""
        return list(self._config().stores)
