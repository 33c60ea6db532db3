"""The one writer of a process: concurrent mutations share a commit, and a lone one commits for itself.

Whoever finds the writer idle leads: it commits its own job and whatever has queued up meanwhile, then hands the
lead to the next in line. A lone caller never pays for a hand-over to another thread.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dex.engine import catalog, journal, machine
from dex.engine.apply import Apply
from dex.engine.clock import Clock
from dex.engine.home import Home
from dex.engine.sqlite.connection import begin_immediate, open_database
from dex.engine.sqlite.errors import is_busy, translate
from dex.engine.stores import rows
from dex.wcl.errors import DexError, Unavailable

R = TypeVar("R")

Pass = Callable[[sqlite3.Connection, catalog.Catalog, journal.Head], bool]
"""A bounded piece of housekeeping in the writer's transaction; it tells whether more remains."""


class Held(NamedTuple):
    """A pass whose transaction is open. One of the two ends it.

    `commit` raises Unavailable where that cannot be; nothing is changed then.
    """

    commit: Callable[[], None]
    undo: Callable[[], None]


_MAX_SHARED = 256
# So many mutations are applied while who wants to read a little waits.
_MOST_IN_A_TURN = 64
_WAKE_EVERY = 256
_UNKNOWN = catalog.Catalog(-1, [], [], ())
_VERSION = "SELECT version FROM catalog"
_HEAD = "SELECT (SELECT version FROM catalog), seq, at, total FROM journal ORDER BY seq DESC LIMIT 1"


class _Job:
    """Work for one commit, and the caller who waits for it."""

    __slots__ = ("error", "followers", "gate", "patience", "results", "work")

    def __init__(self, work: Sequence[Any] | Pass, patience: float) -> None:
        self.work = work
        self.patience = patience
        self.results: list[Any] | None = None
        self.error: BaseException | None = None
        self.gate = threading.Lock()
        self.followers: deque[_Job] = deque()


class Writer:
    """Journals and applies mutations on one connection.

    `on_change` is called after a commit that met other definitions than the one before, or that passed a
    multiple of 256 positions: the moments at which housekeeping may have found work. `turn` is held while a few
    mutations are applied (see `Readers`), not while the disk is waited for. `writes` counts the calls of
    `write`, so that a caller who is interrupted can tell whether anything may have changed; `commits` counts commits.
    One that is not `durable` may lose its last commits when the power fails: a replicated journal gives them again.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        timeout: float,
        on_change: Callable[[], None],
        turn: threading.Lock,
        *,
        durable: bool = True,
    ) -> None:
        self._path = path
        self._clock = clock
        self._timeout = timeout
        self._durable = durable
        self._on_change = on_change
        self._turn = turn
        self._connection: sqlite3.Connection | None = None
        self._catalog = _UNKNOWN
        self._queue: deque[_Job] = deque()
        # The plain lock is entered, never the condition: an interrupt can strike inside the condition's own code.
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._leader: _Job | None = None
        self._rider: _Job | None = None
        self._closed = False
        self._home = Home()
        self.writes = 0
        self.commits = 0

    def write(self, mutations: Sequence[Any]) -> list[Any | DexError]:
        """Commit mutations, as the journal knows them, together; give each one's result or the error that refused it.

        Raises:
            Unavailable: the file is busy or full, or the writer is closed or a fork's; nothing was changed.
        """
        self.writes += 1
        return self._submit(_Job(mutations, self._timeout))

    def run(self, work: Pass, patience: float | None = None) -> bool:
        """Carry out a pass of housekeeping in a commit of its own or beside mutations.

        `patience` is how many seconds it may wait for other processes, at most and by default as long as a mutation.
        """
        return bool(self._submit(_Job(work, min(patience or self._timeout, self._timeout)))[0])

    def ride(self, work: Pass, seconds: float) -> bool | None:
        """Carry out a pass of housekeeping in the commit of the next mutation; None where none came in time.

        A pass that commits by itself makes the put that comes meanwhile wait for the disk twice.
        """
        self._home.check()
        job = _Job(work, 0)
        job.gate.acquire()
        with self._lock:
            self._check_open()
            self._rider = job
        if not job.gate.acquire(timeout=seconds):
            with self._lock:
                if self._rider is job:
                    self._rider = None
                    return None
            job.gate.acquire()  # a leader has taken it along
        if job.error is not None:
            raise job.error
        return bool(job.results and job.results[0])

    def hold(self, work: Pass) -> "Held | None":
        """Carry out a pass and leave its transaction open; None where that cannot be now, and nothing is changed.

        Whoever wants to commit waits until it has ended.
        """
        self._home.check()
        job = _Job(work, 0)
        with self._lock:
            if self._closed or self._leader is not None or self._rider is not None:
                return None
            self._leader = job
        before = self._catalog.version
        try:
            connection = self._begin(0)
            _, seqs = self._apply(connection, [job])
        except Exception:  # noqa: BLE001  # whoever carries it out in earnest finds that again
            self._leave(job)
            return None
        return Held(lambda: self._commit_held(connection, job, before, seqs), lambda: self._leave(job))

    def lend(self, read: Callable[[sqlite3.Connection | None], R]) -> R:
        """Give what `read` gives that is lent the connection for a short time, or None where that is in use or busy.

        It reads of one moment. The connection's cache holds what was committed last; that of a reader is empty after
        each commit. Who wants to commit meanwhile waits.
        """
        self._home.check()
        job = _Job((), 0)
        try:
            try:
                return read(self._begin_read(job))
            except sqlite3.Error as error:
                # Another process may be mending the file, and this connection does not wait.
                if not is_busy(error):
                    raise translate(error, self._path) from error
            finally:
                self._end_read(job)
        finally:
            self._end_read(job)  # where an interrupt has struck in the first
        return read(None)

    def _begin_read(self, job: _Job) -> sqlite3.Connection | None:
        with self._lock:
            if self._leader is not None or self._closed:
                return None
            self._leader = job
        if self._connection is not None:
            self._connection.execute("BEGIN")
        return self._connection

    def _end_read(self, job: _Job) -> None:
        if self._leader is job:
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._leave(job)

    def close(self) -> None:
        """Let running work end, refuse new work, and close the connection."""
        with self._lock:
            self._closed = True
            self._idle.wait_for(lambda: self._leader is None)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _submit(self, job: _Job) -> list[Any]:
        self._home.check()  # before the lock: who held it may be gone
        try:
            with self._lock:
                self._check_open()
                if self._leader is None:
                    self._leader = job
                else:
                    job.gate.acquire()
                    self._queue.append(job)
            if self._leader is not job:
                job.gate.acquire()
            if job.results is None and job.error is None:
                self._lead(job)
        except BaseException:
            self._leave(job)
            raise
        if job.error is not None:
            raise job.error
        return job.results or []

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the engine is closed", "open a new client")

    def _lead(self, job: _Job) -> None:
        """Commit this job with those that queued up, then pass the lead on."""
        with self._lock:
            job.followers.extend(islice(self._queue, _MAX_SHARED))
            for _ in job.followers:
                self._queue.popleft()
            if self._rider is not None:
                job.followers.append(self._rider)
                self._rider = None
        self._commit([job, *job.followers])
        self._leave(job)

    def _leave(self, job: _Job) -> None:
        """Pass on whatever a job held: the file, its followers, the lead, its place in the line.

        An interrupt can strike in here as well; then this is done again from the start, and ends in the same order.
        """
        with self._lock:
            if self._leader is job:
                self._abandon()
                self._release(job.followers)
                self._leader = self._queue[0] if self._queue else None
            elif job in self._queue:
                self._queue.remove(job)
            if self._leader is None:
                self._idle.notify_all()
                return
            if self._queue and self._queue[0] is self._leader:
                self._queue.popleft()
            if self._leader.gate.locked():
                self._leader.gate.release()

    def _release(self, followers: deque[_Job]) -> None:
        """Let followers go on, each with its results or an error."""
        while followers:
            follower = followers[0]
            if self._queue and self._queue[0] is follower:
                self._queue.popleft()
            if follower.results is None and follower.error is None:
                follower.error = Unavailable("the commit was interrupted; nothing was changed", "try again")
            if follower.gate.locked():
                follower.gate.release()
            followers.popleft()

    def _commit(self, jobs: list[_Job]) -> None:
        """Run jobs in one transaction; where one has a fault, each runs alone, so that it fails nobody else."""
        try:
            connection = self._begin(max(job.patience for job in jobs))
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
        else:
            self._look_after(before, seqs)

    def _begin(self, patience: float) -> sqlite3.Connection:
        try:
            if self._connection is None:
                self._connection = open_database(self._path, self._timeout)
                # SQLite's own wait would come on top of ours, and Ctrl-C cannot end it.
                self._connection.execute("PRAGMA busy_timeout=0")
                if not self._durable:
                    self._connection.execute("PRAGMA synchronous=NORMAL")
            begin_immediate(self._connection, patience, self._path)
        except sqlite3.Error as error:
            raise translate(error, self._path) from error
        return self._connection

    def _commit_held(self, connection: sqlite3.Connection, job: _Job, before: int, seqs: tuple[int, int]) -> None:
        try:
            connection.execute("COMMIT")
            self.commits += 1
        except sqlite3.Error as error:
            raise translate(error, self._path) from error
        finally:
            self._leave(job)  # which undoes what is not committed
        self._look_after(before, seqs)

    def _look_after(self, before: int, seqs: tuple[int, int]) -> None:
        """Wake housekeeping where a commit may have left it work."""
        if before != self._catalog.version or seqs[0] // _WAKE_EVERY != seqs[1] // _WAKE_EVERY:
            self._on_change()

    def _transact(self, connection: sqlite3.Connection, jobs: list[_Job]) -> tuple[int, int]:
        """Apply and commit; give the journal's last position before and after."""
        try:
            with self._turn if _is_brief(jobs) else nullcontext():
                results, seqs = self._apply(connection, jobs)
            for job, result in zip(jobs, results, strict=True):
                job.results = result
            connection.execute("COMMIT")
            self.commits += 1
        except BaseException as error:
            # An interrupt strikes when COMMIT returns, and what is committed must not be called undone.
            if connection.in_transaction or isinstance(error, Exception):
                self._catalog = _UNKNOWN
                for job in jobs:
                    job.results = None
                self._abandon()
            raise
        return seqs

    def _abandon(self) -> None:
        """Undo what an error or interrupt left open."""
        if self._connection is not None and self._connection.in_transaction:
            self._catalog = _UNKNOWN
            self._connection.execute("ROLLBACK")

    def _apply(self, connection: sqlite3.Connection, jobs: list[_Job]) -> tuple[list[list[Any]], tuple[int, int]]:
        """Apply every job inside the open transaction and write the journal."""
        first = head = self._look(connection)
        at = max(self._clock.now_ms(), head.at)
        entries: list[journal.Row] = []
        results: list[list[Any]] = []
        for job in jobs:
            if callable(job.work):
                results.append([job.work(connection, self._catalog, head)])
                # What a replicated journal gives is applied in here; the mutations before are not in the table yet.
                head = max(head, self._look(connection))
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
        mutations: Sequence[Any],
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

    def _look(self, connection: sqlite3.Connection) -> journal.Head:
        """Give the end of the journal, and know the definitions of this moment."""
        version, *last = connection.execute(_HEAD).fetchone() or (*connection.execute(_VERSION).fetchone(), 0, 0, 0)
        if version != self._catalog.version:
            self._catalog = catalog.load(connection)
        return journal.Head(*last)


def _is_brief(jobs: Sequence[_Job]) -> bool:
    """Tell whether jobs are a few mutations, and nothing else."""
    return sum(_MOST_IN_A_TURN + 1 if callable(job.work) else len(job.work) for job in jobs) <= _MOST_IN_A_TURN
