"""Attribute Store sync of one partition while this node owns it (spec: Y-16, Y-17, K-05)."""

import logging
import threading
from collections.abc import Callable

import msgspec

from dex.engine.cluster.synclease import PartitionLease
from dex.engine.flows.runtime.parts import Parts
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.metrics import SyncMetrics
from dex.engine.sync.service import Sync
from dex.wcl.commands.sync import SyncTotals
from dex.wcl.errors import DexError

_log = logging.getLogger("dex.sync")
_RETRY_SECONDS = 5.0


class PartitionSync:
    """Writes to the stores of a configuration in a thread of its own, from now until `stop`."""

    def __init__(
        self, parts: Parts, config: Callable[[], SyncConfig], lease: PartitionLease, metrics: SyncMetrics
    ) -> None:
        self._parts = parts
        self._metrics = metrics
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
        sync = Sync(self._parts, config, self._lease, self._metrics)
        try:
            sync.open()
            sync.run(self._stop)
        finally:
            sync.close()


class NodeSync:
    """The sync of the partitions that a node owns, and what it tells of that; `error` is never set."""

    error: str | None = None

    def __init__(self, config: Callable[[], SyncConfig]) -> None:
        self._config = config
        self._running: dict[int, PartitionSync] = {}
        self._metrics = SyncMetrics()

    def begin(self, number: int, parts: Parts, lease: PartitionLease) -> None:
        """Sync a partition from now on."""
        self._running[number] = PartitionSync(parts, self._config, lease, self._metrics)

    def end(self, number: int) -> None:
        """Sync a partition no more, if it was; what is under way is finished."""
        running = self._running.pop(number, None)
        if running is not None:
            running.stop()

    @property
    def state(self) -> str:
        """Whether it writes for some partition (owner), or would once it owns one (standby)."""
        return "owner" if self._running else "standby"

    @property
    def stores(self) -> list[str]:
        """The names of the stores; none while the configuration has a fault, of which the log tells."""
        try:
            return list(self._config().stores)
        except DexError:
            return []

    def metrics(self, totals: SyncTotals) -> str:
        """Give the five metrics: what is pending in the cluster, and what this node has counted."""
        self._metrics.show_pending(totals.pending, totals.oldest_age_seconds)
        return self._metrics.render()
