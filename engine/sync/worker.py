"""The sync worker: keeps the lease, writes every store's backlog, gives up what no store wants any more."""

import logging
import threading
from collections.abc import Callable, Mapping
from itertools import groupby

from dex.engine.clock import LATEST_MS
from dex.engine.flows.records import CloseEnded
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.state import outbox
from dex.engine.sync import backlog
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.dropping import drop, used_up
from dex.engine.sync.lease import Lease, SyncLease
from dex.engine.sync.metrics import SyncMetrics
from dex.engine.sync.storewriter import Destination, StoreWriter
from dex.wcl.errors import DexError

_log = logging.getLogger("dex.sync")

_SCAN_SECONDS = 0.25
_LOOK_SECONDS = 0.02
_DROPPED_AT_ONCE = 500
_ENDED_AT_ONCE = 100
_REST = 20
"""How many times as long as a look took it rests, so that it takes but a small part of the time."""


class SyncWorker:
    """Writes what is marked to the stores of a configuration, while this process is the owner."""

    def __init__(
        self,
        parts: Parts,
        config: SyncConfig,
        destinations: Mapping[str, Destination],
        metrics: SyncMetrics,
        lease: SyncLease | None = None,
    ) -> None:
        self._parts = parts
        self._config = config
        self._metrics = metrics
        duration_ms = int(config.lease_duration * 1000)
        self._lease = lease or Lease(parts.writer, parts.clock, duration_ms, config.cluster_id)
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
            Unavailable: the file is busy or full at the start.
        """
        ended = threading.Event()
        threads = [
            threading.Thread(target=writer.run, args=(ended,), name="dex-sync-store") for writer in self._writers
        ]
        try:
            self._keep_lease()
            for thread in threads:
                thread.start()
            self._watch(stop, until_empty=until_empty)
        finally:
            ended.set()
            self._parts.changes.notify()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            self._end()

    def _watch(self, stop: threading.Event, *, until_empty: bool) -> None:
        # The last two read every mark and every close that waits.
        looks = ((self._scan, 0), (self._end_closes, _REST), (self._measure, _REST))
        due = [float("-inf")] * len(looks)
        while not stop.is_set():
            for at, (look, rest) in enumerate(looks):
                now = self._parts.clock.monotonic()
                if now >= due[at]:
                    self._attempt(look)
                    due[at] = now + max(_SCAN_SECONDS, rest * (self._parts.clock.monotonic() - now))
            if until_empty and self._is_done():
                return
            stop.wait(_LOOK_SECONDS if until_empty else _SCAN_SECONDS)

    def _attempt(self, look: Callable[[], None]) -> None:
        try:
            look()
        except DexError as error:
            _log.warning("%s", error)  # a busy or full file passes

    def _is_done(self) -> bool:
        with self._parts.readers.snapshot() as snapshot:
            empty = backlog.is_empty(snapshot.connection)
        return empty and all(writer.is_idle() for writer in self._writers)

    def _keep_lease(self) -> bool:
        """Take or renew the lease, and tell people when this process begins to write or to stand by (spec: Y-25)."""
        held = self._lease.keep()
        if self._was_owner is not (held is not None):
            self._was_owner = held is not None
            if held is None:
                _log.info("another process writes to the stores; this one stands by")
            else:
                _log.info("this process writes to the stores, epoch %d of cluster %s", held.epoch, held.cluster_id)
        return held is not None

    def _scan(self) -> None:
        """Keep the lease, and see to what belongs to no store's writer."""
        if self._keep_lease():
            self._drop_removed()

    def _end(self) -> None:
        """End the closes that the last writes let end, measure what is left, and give up the lease."""
        self._attempt(self._end_closes)
        self._attempt(self._measure)
        self._attempt(self._lease.release)

    def _measure(self) -> None:
        """Measure the backlog, and give up what has been in it for too long, whatever it waits for (spec: Y-19)."""
        with self._parts.readers.snapshot() as snapshot:
            pending = backlog.totals(snapshot.connection)
        now_ms = self._parts.clock.now_ms()
        age_ms = 0 if pending.oldest_at is None else max(0, now_ms - pending.oldest_at)
        self._metrics.show_pending(pending.entries, age_ms / 1000)
        if age_ms >= self._config.retry.total_duration * 1000 and self._lease.held is not None:
            for name in self._config.stores:
                self._drop(name, used_up, int(now_ms - self._config.retry.total_duration * 1000))

    def _drop_removed(self) -> None:
        """Drop what is pending for stores that are not configured any more (spec: Y-22)."""
        with self._parts.readers.snapshot() as snapshot:
            removed = [name for name in backlog.stores(snapshot.connection) if name not in self._config.stores]
        for name in removed:
            self._drop(name, lambda _: "the store is not configured", LATEST_MS)

    def _drop(self, store: str, reason: Callable[[str | None], str], marked_by: int) -> None:
        """Drop the marks of a store that were first made by a time, in pieces that let others commit.

        `reason` makes one of a mark's last error.
        """
        while True:
            with self._parts.readers.snapshot() as snapshot:
                marks = backlog.marks_of(snapshot.connection, store, _DROPPED_AT_ONCE, marked_by)
            if not marks or self._lease.keep() is None:
                return
            marks.sort(key=lambda mark: reason(mark.last_error))
            for why, alike in groupby(marks, key=lambda mark: reason(mark.last_error)):
                drop(self._parts, store, alike, why, self._metrics)

    def _end_closes(self) -> None:
        """End closes that waited for the last write, and wait for no call of whatever process (spec: FL-14).

        After an outage they may be many: many share a commit, and the lease is kept meanwhile.
        """
        if self._lease.held is None:
            return
        with self._parts.readers.snapshot() as snapshot:
            found = outbox.closable(snapshot.connection)
        ends = [CloseEnded(run_id=run.run_id) for run in found if run.closing is not None and not run.closing.held]
        for at in range(0, len(ends), _ENDED_AT_ONCE):
            if self._lease.keep() is None:
                return
            self._parts.writer.write(ends[at : at + _ENDED_AT_ONCE])
            self._parts.changes.notify()
            self._parts.work.notify()
