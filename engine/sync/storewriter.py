"""Writing one store's backlog: which run is next, what a failure makes wait, and what is given up (spec: Y-18 … Y-20).

Threads write runs side by side, never one run twice.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Protocol
from zlib import crc32

from dex.engine.flows.records import AttributesSynced
from dex.engine.flows.runtime.parts import Parts
from dex.engine.sync import backlog
from dex.engine.sync.acknowledger import FAULT_SECONDS, Acknowledger
from dex.engine.sync.backlog import Pending, PendingRun
from dex.engine.sync.backoff import StoreBackoff, delay_ms
from dex.engine.sync.batch import Batch, Failure, FailureScope, Fence, Outcome, WriteResult
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.dropping import used_up
from dex.engine.sync.lease import Rival, SyncLease
from dex.engine.sync.metrics import SyncMetrics
from dex.wcl.errors import DexError

_log = logging.getLogger("dex.sync")

THREADS = 4
SCOPES = 16
_RUNS_AT_ONCE = 64
_POLL_SECONDS = 0.02
_PASSING_SECONDS = 0.001


class Destination(Protocol):
    """Where a store's rows are written."""

    def write(self, batch: Batch, fence: Fence, limit: int | None, may_start: Callable[[], bool]) -> WriteResult:
        """Write entries of a batch in one transaction of at most `limit` statements, if it may start by then."""


def _scope(flow_id: str) -> str:
    """Give the fencing row of a Flow: one for all its runs, and several of a store, as each lets one write pass.

    The number of scopes is for ever: a late write of one Flow and a newer one would meet at different rows otherwise.
    """
    return str(crc32(flow_id.encode("utf-8", "surrogatepass")) % SCOPES)


_FENCED = {
    Rival.OWNER: "another process has taken over, so this one stops writing",
    Rival.PAST: "the data directory is older, as after a restore from a backup, and goes on above that",
    Rival.COPY: "another copy of the data directory writes, so this process stops; to go on with it, start it again",
}


class StoreWriter:
    """Writes the backlog of one store while this process holds the lease."""

    def __init__(
        self,
        name: str,
        parts: Parts,
        config: SyncConfig,
        destination: Destination,
        lease: SyncLease,
        metrics: SyncMetrics,
    ) -> None:
        self._name = name
        self._parts = parts
        self._config = config
        self._destination = destination
        self._lease = lease
        self._metrics = metrics
        self._backoff = StoreBackoff(config.retry, parts.clock)
        self._acknowledger = Acknowledger(name, parts, metrics)
        self._cursor = 0
        self._passed = 0
        self._accepted = 0

    def run(self, stop: threading.Event) -> None:
        """Write until `stop` is set, and finish what is under way then."""
        with (
            self._acknowledger.running(),
            ThreadPoolExecutor(THREADS, thread_name_prefix="dex-sync") as pool,
        ):
            while not stop.is_set():
                seen = self._parts.changes.seen()
                if not self._submit_due_or_pause(pool, stop):
                    self._rest(stop, seen)

    def is_idle(self) -> bool:
        """Tell whether no run is being written."""
        return self._acknowledger.is_idle()

    def _rest(self, stop: threading.Event, seen: int) -> None:
        """Wait for a commit, up to a moment; after passing many runs that wait, for about as long as that took."""
        seconds, self._passed = self._passed * _PASSING_SECONDS, 0
        if seconds > _POLL_SECONDS:
            stop.wait(seconds)
        else:
            self._parts.changes.wait(seen, _POLL_SECONDS)

    def _submit_due_or_pause(self, pool: Executor, stop: threading.Event) -> bool:
        try:
            return self._submit_due(pool, stop)
        except DexError as error:
            # A full disk or a busy file passes.
            _log.warning("store %s: %s", self._name, error)
            return stop.wait(FAULT_SECONDS)

    def _submit_due(self, pool: Executor, stop: threading.Event) -> bool:
        """Hand runs whose turn has come to the threads, going round the backlog; tell whether to go on at once."""
        if not self._may_start() or self._backoff.is_waiting():
            return False
        failed_run = self._backoff.take_failed_run()
        if failed_run is not None:
            self._cursor = failed_run  # the runs after it come first (spec: Y-18)
        with self._parts.readers.snapshot() as snapshot:
            found, last = backlog.next_runs(
                snapshot.connection, self._name, self._cursor, *self._now_and_horizon(), _RUNS_AT_ONCE
            )
        self._cursor = last or 0
        submitted = False
        for pending in found:
            if not self._acknowledger.take(pending.run):
                continue
            pool.submit(self._attempt, pending, stop)
            submitted = True
        if submitted or found or last is None:
            return submitted
        # Runs that wait are passed at once, so that the others do not wait for a turn round all of them.
        self._passed += 1
        return True

    def _attempt(self, pending: PendingRun, stop: threading.Event) -> None:
        """Write one transaction of a run, and see that the run is let go whatever happens."""
        record: AttributesSynced | None = None
        try:
            if not stop.is_set():  # else it stood in line
                record = self._write_safely(pending)
        except DexError as error:
            _log.warning("store %s: %s", self._name, error)
            stop.wait(FAULT_SECONDS)
        finally:
            self._acknowledger.finish(pending, record)

    def _write_safely(self, pending: PendingRun) -> AttributesSynced | None:
        try:
            return self._write(pending.run)
        except DexError:
            raise
        except Exception:  # noqa: BLE001  # a fault of ours must not take a run out of the game
            _log.exception("store %s: Flow %s, run %s: a fault of dex", self._name, pending.flow_id, pending.run_id)
            attempts = pending.attempts + 1
            delay = delay_ms(self._config.retry, attempts)
            self._back_off_run(pending._replace(attempts=attempts), delay, "a fault of dex; its log tells more")
            return None

    def _write(self, run: int) -> AttributesSynced | None:
        """Write one transaction and give what is to be acknowledged, or None."""
        held = self._lease.held
        if held is None or not self._may_start() or self._backoff.is_waiting():
            return None
        with self._parts.readers.snapshot() as snapshot:
            # Much may have happened while it stood in line: an attempt that failed, an older run that has marks again.
            pending = backlog.due_run(snapshot.connection, self._name, run, *self._now_and_horizon())
            entries, are_all = backlog.batch(snapshot.connection, self._name, run, self._config.batch_size)
        if pending is None or not entries:
            return None
        expired = self._expired(entries)
        if expired:
            return self._record(pending, expired, used_up(pending.last_error))
        batch = Batch(self._name, pending.flow_id, pending.run_id, {entry.key: entry.data for entry in entries})
        fence = Fence(held.cluster_id, _scope(pending.flow_id), held.epoch)
        begun = self._backoff.begin()
        result = self._destination.write(batch, fence, pending.statements, self._may_start)
        match result.outcome:
            case Outcome.WRITTEN:
                if result.statements:
                    self._accepted = held.since
                return self._succeeded(pending, entries, result, are_all=are_all)
            case Outcome.FENCED:
                self._fenced(fence, result.token, has_written=self._accepted == held.since)
            case Outcome.FAILED if result.failure is not None:
                if result.failure.undecided:
                    self._lease.spend(fence.epoch)
                record = self._failed(pending, entries, result, result.failure, begun)
                if result.failure.undecided:
                    self._lease.keep()  # at once, as other stores wait for it
                return record
            case _:
                pass
        return None

    def _fenced(self, fence: Fence, token: int, *, has_written: bool) -> None:
        rival = self._lease.lose(token, has_written=has_written)
        if rival is Rival.NONE:
            return
        self._metrics.fenced_writes.inc()
        _log.error(
            "store %s: the fencing table has epoch %d of cluster %s, which rejects %d: %s",
            self._name, token, fence.cluster, fence.epoch, _FENCED[rival],
        )  # fmt: skip

    def _may_start(self) -> bool:
        """Tell whether the lease lasts for a write and the margin (spec: Y-17)."""
        return self._lease.remaining() > self._config.transaction_timeout + self._config.margin

    def _now_and_horizon(self) -> tuple[int, int]:
        """Give the time, and the latest to which a failure can have put a run off, both in ms."""
        now_ms = self._parts.clock.now_ms()
        return now_ms, now_ms + int(self._config.retry.maximum_interval * 1000)

    def _expired(self, entries: list[Pending]) -> list[Pending]:
        oldest = self._parts.clock.now_ms() - self._config.retry.total_duration * 1000
        return [entry for entry in entries if entry.marked_at <= oldest]

    def _succeeded(
        self, pending: PendingRun, entries: list[Pending], result: WriteResult, *, are_all: bool
    ) -> AttributesSynced:
        keys = frozenset(result.keys)
        written = [entry for entry in entries if entry.key in keys]
        # Where every field is filtered, the store was not asked, and is not known to work.
        if result.statements and self._backoff.succeed():
            _log.info("store %s: writes pass again", self._name)
            self._note(lambda connection: backlog.forget(connection, self._name, 0))
        if pending.statements is not None and not (are_all and len(written) == len(entries)):
            self._note(lambda connection: backlog.restart(connection, self._name, pending.run))
        elif pending.attempts or pending.statements is not None:
            self._note(lambda connection: backlog.forget(connection, self._name, pending.run))
        return self._record(pending, written, rows=result.statements)

    def _failed(
        self, pending: PendingRun, entries: list[Pending], result: WriteResult, failure: Failure, begun: int
    ) -> AttributesSynced | None:
        kind = "retryable" if failure.retryable else "non_retryable"
        self._metrics.write_failures.labels(failure_kind=kind).inc()
        _log.error(
            "store %s: Flow %s, run %s: a write failed: %s",
            self._name, pending.flow_id, pending.run_id, failure.reason,
        )  # fmt: skip
        keys = frozenset(result.keys)
        concerned = [entry for entry in entries if entry.key in keys]
        attempts = pending.attempts + 1
        is_store = failure.scope is FailureScope.STORE
        if failure.scope is FailureScope.TIMEOUT:
            is_store = self._backoff.time_out(pending.run)
        if is_store and failure.retryable:
            self._back_off_store(pending, begun, failure.reason)
        is_last = 0 < self._config.retry.maximum_attempts <= attempts
        if not failure.retryable or is_last:
            self._note(lambda connection: backlog.forget(connection, self._name, pending.run))
            why = failure.reason if not failure.retryable else f"{attempts} attempts failed: {failure.reason}"
            return self._record(pending, concerned, why)
        if failure.scope is FailureScope.TIMEOUT:
            pending = pending._replace(statements=max(1, result.statements // 2))
        # Also after a failure of the store, which other runs may not meet, as of a right to a single column.
        delay = delay_ms(self._config.retry, attempts)
        self._back_off_run(pending._replace(attempts=attempts), delay, failure.reason)
        return None

    def _back_off_run(self, pending: PendingRun, delay: int, reason: str) -> None:
        due_ms = self._parts.clock.now_ms() + delay
        attempts, statements = pending.attempts, pending.statements
        self._note(
            lambda connection: backlog.fail(connection, self._name, pending.run, attempts, statements, due_ms, reason)
        )

    def _back_off_store(self, pending: PendingRun, begun: int, reason: str) -> None:
        wait = self._backoff.fail(pending.run, begun)
        if wait is not None:
            self._note(
                lambda connection: backlog.fail(connection, self._name, 0, wait.attempts, None, wait.due_ms, reason)
            )

    def _record(
        self, pending: PendingRun, entries: list[Pending], dropped: str | None = None, rows: int = 0
    ) -> AttributesSynced:
        done = [(pending.run, entry.key, entry.seq) for entry in entries]
        return AttributesSynced(store=self._name, entries=done, dropped=dropped, rows=rows)

    def _note(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Write down what is known of failures, for people and for the next attempt."""

        def run(connection: sqlite3.Connection, *_: object) -> bool:
            change(connection)
            return False

        self._parts.writer.run(run)
