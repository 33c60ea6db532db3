"""Acknowledging what was written: one thread for all that write, so that many transactions share one commit here.

A run that was taken is in nobody's hands again only once that is done, so that none is written twice at a time.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dex.engine.flows.records import AttributesSynced
from dex.engine.flows.runtime.parts import Parts
from dex.engine.sync.backlog import PendingRun
from dex.engine.sync.dropping import forget_settled, report_dropped
from dex.engine.sync.metrics import SyncMetrics
from dex.wcl.errors import DexError

_log = logging.getLogger("dex.sync")

FAULT_SECONDS = 1.0
_UNACKNOWLEDGED = 256
_GATHERED = 64
_GATHER_SECONDS = 0.005

_Told = tuple[PendingRun, AttributesSynced]


class Acknowledger:
    """The runs of one store that are being written, and the commits that tell what became of them."""

    def __init__(self, store: str, parts: Parts, metrics: SyncMetrics) -> None:
        self._store = store
        self._parts = parts
        self._metrics = metrics
        self._state = threading.Condition()
        self._busy: set[int] = set()
        self._finished: list[tuple[PendingRun, AttributesSynced | None]] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Acknowledge meanwhile, and go on at the end until no run is taken any more."""
        done = threading.Event()
        thread = threading.Thread(target=self._acknowledge, args=(done,), name="dex-sync-acknowledge")
        thread.start()
        try:
            yield
        finally:
            done.set()
            with self._state:
                self._state.notify_all()
            thread.join()

    def is_idle(self) -> bool:
        """Tell whether no run is being written."""
        with self._state:
            return not self._busy

    def take(self, run: int) -> bool:
        """Take a run to write it, once not too many are; tell whether it was free."""
        with self._state:
            if run in self._busy:
                return False
            self._state.wait_for(lambda: len(self._busy) < _UNACKNOWLEDGED)
            self._busy.add(run)
            return True

    def finish(self, pending: PendingRun, record: AttributesSynced | None) -> None:
        """Hand a run over, with what is to be committed of it if anything is."""
        with self._state:
            self._finished.append((pending, record))
            self._state.notify_all()

    def _acknowledge(self, done: threading.Event) -> None:
        while True:
            with self._state:
                self._state.wait_for(lambda: self._finished or (done.is_set() and not self._busy))
                if not self._finished:
                    return
                # A commit waits for the disk: what other threads are about to have written shares it.
                self._state.wait_for(self._is_gathered, _GATHER_SECONDS)
                finished, self._finished = self._finished, []
            told = [(pending, record) for pending, record in finished if record is not None]
            try:
                self._commit(told)
            except Exception as error:  # noqa: BLE001  # the marks stay, and the same values are written again
                _log.warning("store %s: what was written could not be acknowledged: %s", self._store, error)
                done.wait(FAULT_SECONDS)
            with self._state:
                self._busy.difference_update(pending.run for pending, _ in finished)
                self._state.notify_all()
            if told:
                self._parts.changes.notify()
                self._parts.work.notify()

    def _is_gathered(self) -> bool:
        return len(self._finished) >= min(len(self._busy), _GATHERED)

    def _commit(self, told: list[_Told]) -> None:
        if not told:
            return
        results = self._parts.writer.write([record for _, record in told])
        for (pending, record), result in zip(told, results, strict=True):
            if isinstance(result, DexError):
                raise result
            if record.dropped is not None:
                keys = [(pending.flow_id, pending.run_id, key) for _, key in result]
                report_dropped(self._store, keys, record.dropped, self._metrics)
        if any(record.dropped is not None for _, record in told):
            forget_settled(self._parts, self._store)
