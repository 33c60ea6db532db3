"""The one writer of a process: concurrent mutations share a commit, and a lone one commits for itself.

Whoever finds the writer idle leads: it commits its own job and whatever has queued up meanwhile, then hands the
lead to the next in line. A lone caller never pays for a hand-over to another thread.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from dex.engine import catalog, journal, machine
from dex.engine.apply import Apply
from dex.engine.clock import Clock
from dex.engine.sqlite.connection import begin_immediate, open_database
from dex.engine.sqlite.errors import translate
from dex.engine.stores import rows
from dex.wcl.commands import Command
from dex.wcl.errors import DexError, Unavailable

Pass = Callable[[sqlite3.Connection, catalog.Catalog, journal.Head], bool]
"""A bounded piece of housekeeping in the writer's transaction; it tells whether more remains."""

_MAX_SHARED = 256
_WAKE_EVERY = 256
_UNKNOWN = catalog.Catalog(-1, [], [], ())
_HEAD = (
    "SELECT c.version, j.seq, j.at, j.total FROM catalog c"
    " LEFT JOIN (SELECT seq, at, total FROM journal ORDER BY seq DESC LIMIT 1) j"
)


class _Job:
    """Work for one commit, and the caller who waits for it."""

    __slots__ = ("error", "gate", "results", "work")

    def __init__(self, work: Sequence[Command[Any]] | Pass) -> None:
        self.work = work
        self.results: list[Any] | None = None
        self.error: BaseException | None = None
        self.gate = threading.Lock()


class Writer:
    """Journals and applies mutations on one connection.

    `on_change` is called after a commit that met other definitions than the one before, or that passed a
    multiple of 256 positions: the moments at which housekeeping may have found work.
    """

    def __init__(self, path: Path, clock: Clock, timeout: float, on_change: Callable[[], None]) -> None:
        self._path = path
        self._clock = clock
        self._timeout = timeout
        self._on_change = on_change
        self._connection: sqlite3.Connection | None = None
        self._catalog = _UNKNOWN
        self._queue: deque[_Job] = deque()
        self._changed = threading.Condition(threading.Lock())
        self._leader: _Job | None = None
        self._closed = False

    def write(self, mutations: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Commit mutations together and give each one's result or the error that refused it.

        Raises:
            Unavailable: the file is busy or full, or the writer is closed; nothing was changed.
        """
        return self._submit(_Job(mutations))

    def run(self, work: Pass) -> bool:
        """Carry out a pass of housekeeping in a commit of its own or beside mutations."""
        return bool(self._submit(_Job(work))[0])

    def close(self) -> None:
        """Let running work end, refuse new work, and close the connection."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._leader is None)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _submit(self, job: _Job) -> list[Any]:
        with self._changed:
            if self._closed:
                raise Unavailable("the engine is closed", "open a new client")
            lead = self._leader is None
            if lead:
                self._leader = job
            else:
                job.gate.acquire()
                self._queue.append(job)
        if not lead:
            self._wait(job)
        if job.results is None and job.error is None:
            self._lead(job)
        if job.error is not None:
            raise job.error
        return job.results or []

    def _wait(self, job: _Job) -> None:
        """Wait until a leader has done the job or hands over the lead; on Ctrl-C leave the line in good order."""
        try:
            job.gate.acquire()
        except BaseException:
            with self._changed:
                if job in self._queue:
                    self._queue.remove(job)
                elif self._leader is job:
                    self._hand_over()
            raise

    def _lead(self, job: _Job) -> None:
        """Commit this job with those that queued up, then pass the lead on."""
        with self._changed:
            jobs = [job, *(self._queue.popleft() for _ in range(min(len(self._queue), _MAX_SHARED)))]
        try:
            self._commit(jobs)
        finally:
            with self._changed:
                self._hand_over()
            for done in jobs[1:]:
                done.gate.release()

    def _hand_over(self) -> None:
        self._leader = self._queue.popleft() if self._queue else None
        if self._leader is not None:
            self._leader.gate.release()
        else:
            self._changed.notify_all()

    def _commit(self, jobs: list[_Job]) -> None:
        """Run jobs in one transaction; where one has a fault, each runs alone, so that it fails nobody else."""
        try:
            connection = self._begin()
        except Exception as error:  # noqa: BLE001  # raised where each job came from
            for job in jobs:
                job.error = error
            return
        before = self._catalog.version
        try:
            seqs = self._transact(connection, jobs)
        except Exception as error:  # noqa: BLE001  # raised where the job came from
            if len(jobs) == 1:
                jobs[0].error = translate(error, self._path) if isinstance(error, sqlite3.Error) else error
                return
            for job in jobs:
                self._commit([job])
        except BaseException:
            for job in jobs[1:]:
                job.error = Unavailable("the commit was interrupted; nothing was changed", "try again")
            raise
        else:
            if before != self._catalog.version or seqs[0] // _WAKE_EVERY != seqs[1] // _WAKE_EVERY:
                self._on_change()

    def _begin(self) -> sqlite3.Connection:
        try:
            if self._connection is None:
                self._connection = open_database(self._path, self._timeout)
            begin_immediate(self._connection, self._timeout, self._path)
        except sqlite3.Error as error:
            raise translate(error, self._path) from error
        return self._connection

    def _transact(self, connection: sqlite3.Connection, jobs: list[_Job]) -> tuple[int, int]:
        """Apply and commit; give the journal's last position before and after."""
        try:
            results, seqs = self._apply(connection, jobs)
            connection.execute("COMMIT")
        except BaseException:
            self._catalog = _UNKNOWN
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        for job, result in zip(jobs, results, strict=True):
            job.results = result
        return seqs

    def _apply(self, connection: sqlite3.Connection, jobs: list[_Job]) -> tuple[list[list[Any]], tuple[int, int]]:
        """Apply every job inside the open transaction and write the journal."""
        version, *last = connection.execute(_HEAD).fetchone()
        first = head = journal.Head(*(value or 0 for value in last))
        if version != self._catalog.version:
            self._catalog = catalog.load(connection)
        at = max(self._clock.now_ms(), head.at)
        entries: list[journal.Row] = []
        results: list[list[Any]] = []
        for job in jobs:
            if callable(job.work):
                results.append([job.work(connection, self._catalog, head)])
                self._reload_if_changed(connection)
            else:
                results.append(self._mutate(connection, job.work, journal.Head(head.seq, at, head.total), entries))
                if entries:
                    head = journal.Head(*entries[-1][:3])
        if entries:
            journal.write(connection, entries)
        return results, (first.seq, head.seq)

    def _mutate(
        self,
        connection: sqlite3.Connection,
        mutations: Sequence[Command[Any]],
        head: journal.Head,
        entries: list[journal.Row],
    ) -> list[Any | DexError]:
        """Apply mutations at the positions after `head`; one that changes nothing leaves its position free."""
        seq, at, total = head
        surroundings = Apply(connection, self._catalog, seq + 1, at)
        new = rows.put_new(surroundings, mutations)
        if new is not None:
            records = [journal.encode_record(mutation) for mutation in mutations]
            totals = accumulate((len(record) for record in records), initial=total)
            next(totals)
            entries.extend((row.seq, at, sum_, record) for row, sum_, record in zip(new, totals, records, strict=True))
            return list(new)
        results: list[Any | DexError] = []
        for mutation in mutations:
            try:
                record = journal.encode_record(mutation)
                outcome = machine.apply(surroundings, mutation, record)
            except DexError as error:
                results.append(error)
                continue
            if outcome.wrote:
                seq += 1
                total += len(record)
                entries.append((seq, at, total, record))
                surroundings.seq = seq + 1
            if outcome.changed_catalog:
                catalog.touch(connection)
                surroundings.catalog = self._catalog = catalog.load(connection)
            results.append(outcome.result)
        return results

    def _reload_if_changed(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("SELECT version FROM catalog").fetchone()
        if version != self._catalog.version:
            self._catalog = catalog.load(connection)
