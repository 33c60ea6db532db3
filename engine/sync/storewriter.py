"""Writing one store's backlog: which run is next, what a failure makes wait, and what is given up (spec: Y-18 … Y-20).

Threads write runs side by side, never one run twice. What was written is acknowledged by one thread for all, so that
many transactions in PostgreSQL share one commit here; a run is in nobody's hands again only once that is done.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from dex.engine.flows.records import AttributesSynced
from dex.engine.flows.runtime.parts import Parts
from dex.engine.sync import backlog
from dex.engine.sync.backlog import Pending, PendingRun
from dex.engine.sync.batch import Batch, Failure, FailureScope, Fence, Outcome, WriteResult
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.lease import Lease
from dex.engine.sync.metrics import SyncMetrics
from dex.wcl.errors import DexError

_log = logging.getLogger("dex.sync")

THREADS = 4
SCOPE = "0"
_RUNS_AT_ONCE = 64
_UNACKNOWLEDGED = 256
_TIMEOUTS_OF_A_STORE = 3
_POLL_SECONDS = 0.02


class Destination(Protocol):
    """Where a store's rows are written."""

    def write(self, batch: Batch, fence: Fence, limit: int | None, may_start: Callable[[], bool]) -> WriteResult:
        """Write entries of a batch in one transaction of at most `limit` statements, if it may start by then."""


class StoreWriter:
    """Writes the backlog of one store while this process holds the lease."""

    def __init__(
        self, name: str, parts: Parts, config: SyncConfig, destination: Destination, lease: Lease, metrics: SyncMetrics
    ) -> None:
        self._name = name
        self._parts = parts
        self._config = config
        self._destination = destination
        self._lease = lease
        self._metrics = metrics
        self._state = threading.Condition()
        self._busy: set[int] = set()
        self._timed_out: set[int] = set()
        self._acknowledged: list[tuple[PendingRun, AttributesSynced | None]] = []
        self._cursor = 0
        self._store_attempts = 0
        self._store_due_ms = 0

    def run(self, stop: threading.Event) -> None:
        """Write until `stop` is set, and finish what is under way then."""
        done = threading.Event()
        acknowledger = threading.Thread(target=self._acknowledge, args=(done,), name="dex-sync-acknowledge")
        acknowledger.start()
        try:
            with ThreadPoolExecutor(THREADS, thread_name_prefix="dex-sync") as pool:
                while not stop.is_set():
                    seen = self._parts.changes.seen()
                    if not self._submit_due(pool):
                        self._parts.changes.wait(seen, _POLL_SECONDS)
        finally:
            done.set()
            with self._state:
                self._state.notify_all()
            acknowledger.join()

    def is_idle(self) -> bool:
        """Tell whether no run is being written."""
        with self._state:
            return not self._busy

    def _submit_due(self, pool: ThreadPoolExecutor) -> bool:
        """Hand runs whose turn has come to the threads, going round the backlog; tell whether there were any."""
        now_ms = self._parts.clock.now_ms()
        if self._lease.held is None or now_ms < self._store_due_ms:
            return False
        with self._parts.readers.snapshot() as snapshot:
            found, last = backlog.next_runs(snapshot.connection, self._name, self._cursor, now_ms, _RUNS_AT_ONCE)
        self._cursor = last or 0
        submitted = False
        for pending in found:
            with self._state:
                if pending.run in self._busy:
                    continue
                self._state.wait_for(lambda: len(self._busy) < _UNACKNOWLEDGED)
                self._busy.add(pending.run)
            pool.submit(self._attempt, pending)
            submitted = True
        return submitted

    def _attempt(self, pending: PendingRun) -> None:
        """Write one transaction of a run, and see that the run is let go whatever happens."""
        record: AttributesSynced | None = None
        try:
            record = self._write(pending)
        except DexError as error:
            _log.warning("store %s: %s", self._name, error)
        except Exception:  # noqa: BLE001  # a fault of ours must not take a run out of the game
            _log.exception("store %s: Flow %s, run %s: a fault of dex", self._name, pending.flow_id, pending.run_id)
        finally:
            with self._state:
                self._acknowledged.append((pending, record))
                self._state.notify_all()

    def _write(self, pending: PendingRun) -> AttributesSynced | None:
        """Write one transaction and give what is to be acknowledged, or None."""
        held = self._lease.held
        if held is None or not self._may_start():
            return None
        with self._parts.readers.snapshot() as snapshot:
            entries = backlog.batch(snapshot.connection, self._name, pending.run, self._config.batch_size)
        expired = self._expired(entries)
        if expired:
            return self._drop(pending, expired, "its retry budget is used up")
        if not entries:
            return None
        batch = Batch(self._name, pending.flow_id, pending.run_id, {entry.key: entry.data for entry in entries})
        result = self._destination.write(
            batch, Fence(held.cluster_id, SCOPE, held.epoch), pending.statements, self._may_start
        )
        match result.outcome:
            case Outcome.WRITTEN:
                self._succeeded(pending)
                return self._record(pending, [entry for entry in entries if entry.key in result.keys])
            case Outcome.FENCED:
                self._metrics.fenced_writes.inc()
                _log.error("store %s: a newer owner has written; this process stops writing", self._name)
                self._lease.held = None
            case Outcome.FAILED if result.failure is not None:
                return self._failed(pending, entries, result, result.failure)
            case _:
                pass
        return None

    def _may_start(self) -> bool:
        """Tell whether the lease lasts for a write and the margin (spec: Y-17)."""
        return self._lease.remaining() > self._config.transaction_timeout + self._config.margin

    def _expired(self, entries: list[Pending]) -> list[Pending]:
        oldest = self._parts.clock.now_ms() - self._config.retry.total_duration * 1000
        return [entry for entry in entries if entry.marked_at <= oldest]

    def _succeeded(self, pending: PendingRun) -> None:
        with self._state:
            self._timed_out.clear()
            recovered, self._store_attempts, self._store_due_ms = self._store_attempts > 0, 0, 0
        if recovered:
            self._note(lambda connection: backlog.forget(connection, self._name, 0))
        if pending.attempts:
            self._note(lambda connection: backlog.forget(connection, self._name, pending.run))

    def _failed(
        self, pending: PendingRun, entries: list[Pending], result: WriteResult, failure: Failure
    ) -> AttributesSynced | None:
        kind = "retryable" if failure.retryable else "non_retryable"
        self._metrics.write_failures.labels(failure_kind=kind).inc()
        _log.error(
            "store %s: Flow %s, run %s: a write failed: %s",
            self._name, pending.flow_id, pending.run_id, failure.reason,
        )  # fmt: skip
        concerned = [entry for entry in entries if entry.key in result.keys]
        if not failure.retryable:
            return self._drop(pending, concerned, failure.reason)
        if failure.scope is FailureScope.STORE:
            self._back_off_store(pending, failure.reason)
            return None
        attempts = pending.attempts + 1
        if self._config.retry.maximum_attempts and attempts >= self._config.retry.maximum_attempts:
            return self._drop(pending, concerned, f"{attempts} attempts failed: {failure.reason}")
        statements = pending.statements
        if failure.scope is FailureScope.TIMEOUT:
            statements = max(1, result.statements // 2)
            self._count_timeout(pending, failure.reason)
        due_ms = self._parts.clock.now_ms() + self._delay_ms(attempts)
        self._note(
            lambda connection: backlog.fail(
                connection, self._name, pending.run, attempts, statements, due_ms, failure.reason
            )
        )
        return None

    def _count_timeout(self, pending: PendingRun, reason: str) -> None:
        """Back the store off once three of its runs have timed out with no commit in between (spec: Y-18)."""
        with self._state:
            self._timed_out.add(pending.run)
            many = len(self._timed_out) >= _TIMEOUTS_OF_A_STORE
            if many:
                self._timed_out.clear()
        if many:
            self._back_off_store(pending, reason)

    def _back_off_store(self, pending: PendingRun, reason: str) -> None:
        """Let the whole store wait; it starts again with other runs than the one that failed (spec: Y-18)."""
        now_ms = self._parts.clock.now_ms()
        with self._state:
            if now_ms < self._store_due_ms:
                return  # another thread met the same failure
            self._store_attempts += 1
            attempts = self._store_attempts
            due_ms = self._store_due_ms = now_ms + self._delay_ms(attempts)
            self._cursor = pending.run
        self._note(lambda connection: backlog.fail(connection, self._name, 0, attempts, None, due_ms, reason))

    def _delay_ms(self, attempts: int) -> int:
        """Give the delay after the failed attempt number `attempts`, from 1 (spec: Y-19)."""
        retry = self._config.retry
        ceiling = retry.maximum_interval
        try:
            delay = retry.initial_interval * retry.backoff_coefficient ** (attempts - 1)
        except OverflowError:
            delay = ceiling
        return int(min(delay, ceiling) * 1000)

    def _drop(self, pending: PendingRun, entries: list[Pending], reason: str) -> AttributesSynced:
        for entry in entries:
            _log.error(
                "store %s: Flow %s, run %s: attribute %s is dropped: %s",
                self._name, pending.flow_id, pending.run_id, entry.key, reason,
            )  # fmt: skip
        self._metrics.dropped_entries.inc(len(entries))
        return self._record(pending, entries, reason)

    def _record(self, pending: PendingRun, entries: list[Pending], dropped: str | None = None) -> AttributesSynced:
        done = [(pending.run, entry.key, entry.seq) for entry in entries]
        return AttributesSynced(store=self._name, entries=done, dropped=dropped)

    def _note(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Write down what is known of failures, for people and for the next attempt."""

        def run(connection: sqlite3.Connection, *_: object) -> bool:
            change(connection)
            return False

        self._parts.writer.run(run)

    def _acknowledge(self, done: threading.Event) -> None:
        """Commit what was written, as much at once as there is, and let the runs go."""
        while True:
            with self._state:
                self._state.wait_for(lambda: self._acknowledged or (done.is_set() and not self._busy))
                if not self._acknowledged:
                    return
                finished, self._acknowledged = self._acknowledged, []
            records = [record for _, record in finished if record is not None]
            try:
                if records:
                    self._parts.writer.write(records)
            except DexError as error:
                # The marks stay, and the same values are written again.
                _log.warning("store %s: %s", self._name, error)
            with self._state:
                self._busy.difference_update(pending.run for pending, _ in finished)
                self._state.notify_all()
            self._parts.changes.notify()
            self._parts.work.notify()
