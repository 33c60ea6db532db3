"""The sync worker: keeps the lease, writes every store's backlog, gives up what no store wants any more."""

import logging
import threading
from collections.abc import Mapping

from dex.engine.flows.records import AttributesSynced, CloseEnded
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.state import outbox
from dex.engine.sync import backlog
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.lease import Lease
from dex.engine.sync.metrics import SyncMetrics
from dex.engine.sync.storewriter import Destination, StoreWriter
from dex.wcl.errors import Unavailable

_log = logging.getLogger("dex.sync")

_SCAN_SECONDS = 0.25
_LOOK_SECONDS = 0.02
_DROPPED_AT_ONCE = 500


class SyncWorker:
    """Writes what is marked to the stores of a configuration, while this process is the owner."""

    def __init__(
        self, parts: Parts, config: SyncConfig, destinations: Mapping[str, Destination], metrics: SyncMetrics
    ) -> None:
        self._parts = parts
        self._config = config
        self._metrics = metrics
        self._lease = Lease(parts.writer, parts.clock, int(config.lease_duration * 1000), config.cluster_id)
        self._was_owner: bool | None = None
        self._writers = [
            StoreWriter(name, parts, config, destination, self._lease, metrics)
            for name, destination in destinations.items()
        ]

    @property
    def is_owner(self) -> bool:
        """Whether this process holds the lease."""
        return self._lease.held is not None

    def run(self, stop: threading.Event, *, until_empty: bool = False) -> None:
        """Write until `stop` is set, or until nothing is pending; then finish what is under way and give up the lease.

        Raises:
            FailedPrecondition: the data directory has another cluster id than the configured one.
        """
        ended = threading.Event()
        threads = [
            threading.Thread(target=writer.run, args=(ended,), name="dex-sync-store") for writer in self._writers
        ]
        try:
            self._keep_lease()
            for thread in threads:
                thread.start()
            scanned = float("-inf")
            while not stop.is_set() and not (until_empty and self._is_done()):
                if self._parts.clock.monotonic() - scanned >= _SCAN_SECONDS:
                    scanned = self._parts.clock.monotonic()
                    self._scan()
                stop.wait(_LOOK_SECONDS if until_empty else _SCAN_SECONDS)
        finally:
            ended.set()
            self._parts.changes.notify()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            self._lease.release()

    def _is_done(self) -> bool:
        with self._parts.readers.snapshot() as snapshot:
            empty = backlog.is_empty(snapshot.connection)
        return empty and all(writer.is_idle() for writer in self._writers)

    def _keep_lease(self) -> None:
        """Take or renew the lease, and tell when this process begins to write or to stand by."""
        held = self._lease.keep()
        if self.is_owner is not self._was_owner:
            self._was_owner = self.is_owner
            if held is None:
                _log.info("another process writes to the stores; this one stands by")
            else:
                _log.info("this process writes to the stores, epoch %d of cluster %s", held.epoch, held.cluster_id)

    def _scan(self) -> None:
        """Keep the lease, see to what belongs to no store's writer, and measure the backlog."""
        try:
            self._keep_lease()
            if self.is_owner:
                self._drop_removed()
                self._end_closes()
        except Unavailable as error:
            _log.warning("%s", error)  # a busy or full file passes
        with self._parts.readers.snapshot() as snapshot:
            pending = backlog.totals(snapshot.connection)
        now_ms = self._parts.clock.now_ms()
        self._metrics.backlog_entries.set(pending.entries)
        age_ms = 0 if pending.oldest_at is None else max(0, now_ms - pending.oldest_at)
        self._metrics.oldest_pending_age.set(age_ms / 1000)

    def _drop_removed(self) -> None:
        """Drop what is pending for stores that are not configured any more (spec: Y-22)."""
        with self._parts.readers.snapshot() as snapshot:
            removed = [name for name in backlog.stores(snapshot.connection) if name not in self._config.stores]
            marks = {name: backlog.marks_of(snapshot.connection, name, _DROPPED_AT_ONCE) for name in removed}
        for name, entries in marks.items():
            self._parts.commit(AttributesSynced(store=name, entries=entries, dropped="the store is not configured"))
            self._metrics.dropped_entries.inc(len(entries))
            _log.error("store %s is not configured any more: %d pending entries are dropped", name, len(entries))

    def _end_closes(self) -> None:
        """End closes that waited for the last write (spec: FL-14)."""
        with self._parts.readers.snapshot() as snapshot:
            runs = outbox.closable(snapshot.connection)
        for run in runs:
            if not self._parts.locks.under_way(run.run_id):
                self._parts.commit(CloseEnded(run_id=run.run_id))
