"""What every part of the runtime works with."""

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from typing import NamedTuple, Self, TypeVar

from dex.engine.clock import Clock
from dex.engine.failures import RecentFailures
from dex.engine.flows.locks import Locks
from dex.engine.flows.records import AttributesSynced, CloseEnded, FlowRecord, RunCommitted, RunStarted
from dex.engine.flows.registry import Registry
from dex.engine.flows.state import runs
from dex.engine.flows.state.runs import Run
from dex.engine.reader import Readers, Snapshot
from dex.engine.writer import Writer
from dex.wcl.errors import DexError

R = TypeVar("R")

_REMEMBERED = 1024


class Changes:
    """Wakes those who wait for a commit of this process, or for one of a certain run."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0
        self._of: dict[str, list[Changes]] = {}

    def notify(self, run_id: str | None = None) -> None:
        """Tell that something was committed: of one run, or of any run where none is named."""
        with self._condition:
            self._count += 1
            self._condition.notify_all()
            waiting = chain.from_iterable(self._of.values()) if run_id is None else self._of.get(run_id, ())
            for changes in waiting:
                changes.notify()

    @contextmanager
    def of(self, run_id: str) -> Iterator[Self]:
        """Give the changes of one run: whoever waits for it need not wake for all others."""
        changes = type(self)()
        with self._condition:
            self._of.setdefault(run_id, []).append(changes)
        try:
            yield changes
        finally:
            with self._condition:
                self._of[run_id].remove(changes)
                if not self._of[run_id]:
                    del self._of[run_id]

    def seen(self) -> int:
        """Give how many commits there were, to be handed to `wait`."""
        with self._condition:
            return self._count

    def wait(self, seen: int, seconds: float) -> None:
        """Wait until there was a commit since `seen`, up to some seconds."""
        with self._condition:
            self._condition.wait_for(lambda: self._count != seen, seconds)


def makes_work(record: FlowRecord) -> bool:
    """Tell whether a step may be due after a commit."""
    if isinstance(record, RunCommitted):
        return bool(record.steps or record.publishes or record.step or record.close)
    return not isinstance(record, RunStarted) or bool(record.steps)


class Parts(NamedTuple):
    """The runtime's surroundings: where it reads and commits, which Flows it knows, and who holds what.

    `changes` tells of every commit, `work` of those after which a step may be due. `attribute_stores` names the stores
    that a run may be synced to. `called` are runs that were called lately, by Flow ID; there may be newer ones.
    `failures` are those of handlers that nobody called.
    """

    readers: Readers
    writer: Writer
    registry: Registry
    locks: Locks
    clock: Clock
    changes: Changes
    work: Changes
    attribute_stores: Collection[str]
    called: dict[str, Run]
    failures: RecentFailures

    def remember(self, run: Run) -> None:
        """Keep in mind that a run was called, so that the next call need not look for it."""
        if len(self.called) >= _REMEMBERED:
            self.called.clear()
        self.called[run.flow_id] = run

    def commit(self, record: FlowRecord) -> object:
        """Commit a record and give its result.

        Raises:
            DexError: it does not fit the state; nothing was changed.
        """
        (result,) = self.writer.write((record,))
        if isinstance(result, DexError):
            raise result
        self.changes.notify(None if isinstance(record, AttributesSynced) else record.run_id)
        if makes_work(record):
            self.work.notify()
        return result

    def read_briefly(self, read: Callable[[sqlite3.Connection], R]) -> R:
        """Give what `read` gives of one moment, faster than from a snapshot; a commit may have to wait for it.

        Raises:
            DexError: the file cannot be read, or what `read` raises.
        """
        return self.writer.lend(lambda connection: self.read(read) if connection is None else read(connection))

    def read(self, read: Callable[[sqlite3.Connection], R]) -> R:
        """Give what `read` gives of one moment.

        Raises:
            DexError: as `read_briefly`.
        """
        with self.readers.brief() as snapshot:
            return read(snapshot.connection)

    def find_run(self, flow_id: str, run_id: str | None = None) -> Run:
        """Give the latest run of a Flow ID, or the one that is named.

        Raises:
            FlowNotFoundError: there is none.
        """
        return self.read(lambda connection: runs.find(connection, flow_id, run_id))

    def leave(self, run_id: str) -> None:
        """Count a transactional or locking call as ended; the last one lets a waiting close go on (spec: FL-14)."""
        if self.locks.leave(run_id):
            # What the call itself gave stays so; a close that could not be ended here is ended by the worker.
            with suppress(DexError):
                self.commit(CloseEnded(run_id=run_id))

    def now_ms(self, snapshot: Snapshot) -> int:
        """Give the time that steps are due by: the clock's, but never before the journal's, whose times only rise."""
        last = snapshot.connection.execute("SELECT at FROM journal ORDER BY seq DESC LIMIT 1").fetchone()
        return max(self.clock.now_ms(), 0 if last is None else last[0])
