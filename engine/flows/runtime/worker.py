"""The worker: executes steps whose time has come, fires timers and timeouts, and ends closes that a crash left.

One process of a data directory works at a time: it holds a lock on a file, which the system releases when the
process ends, however it ends. The others stand by.
"""

import atexit
import fcntl
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from dex.engine.flows.records import CloseEnded
from dex.engine.flows.runtime.begun import Begun, BegunAttempts
from dex.engine.flows.runtime.crew import MOST_THREADS, THREADS, Crew
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.runtime.stepping import Attempt
from dex.engine.flows.runtime.timeouts import time_out
from dex.engine.flows.state import outbox, runs, steps
from dex.engine.home import Home
from dex.engine.sqlite.connection import is_missing
from dex.wcl.errors import DexError, Refused
from dex.wcl.shown import shown_error

_log = logging.getLogger("dex.flows")
_BATCH = 64
# How long the worker sleeps at most: commits of other processes do not wake it.
_POLL_SECONDS = 0.05
_LOCK_RETRY_SECONDS = 0.02
_FAULT_SECONDS = 1.0
# A handler that has run for so long is told of: it may hang.
_TOLD_SECONDS = 60.0
# Whoever closes an engine waits so long for handlers, which are told to hurry. Whoever works in the foreground waits
# for as long as it takes, and says after a moment what for.
_GRACE_SECONDS = 3.0
_MOMENT_SECONDS = 2.0


class _Work(NamedTuple):
    """What is due: `name` is what a person calls it, `at` when it was found, in ms; `begun` where it runs a handler."""

    name: str
    do: Callable[[], object]
    at: int
    begun: Begun | None = None
    lost: bool = False


class Worker:
    """Works the Flows whose types this process knows, in threads of its own."""

    def __init__(self, parts: Parts, lock_path: Path) -> None:
        self.lock_path = lock_path
        self._parts = parts
        self._home = Home()
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._begun: BegunAttempts | None = None
        self._told: frozenset[Any] = frozenset()
        self._failure: DexError | None = None

    def start(self) -> None:
        """Work in the background from now on, until `stop` or the end of the program."""
        with self._mutex:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._background, name="dex-worker", daemon=True)
                self._thread.start()
                atexit.register(self.stop)

    def stop(self) -> None:
        """End the work. In the background, attempts that are under way get a moment to end, and do not count else."""
        if not self._home.is_here:
            return
        self._stopping.set()
        self._parts.work.notify()
        atexit.unregister(self.stop)
        with self._mutex:  # another thread's wait may be about to start it
            thread = self._thread
        if thread is not None:
            try:
                thread.join()
            except BaseException:
                self._leave()
                raise

    def _background(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._turn(until_idle=False) as is_ours:
                    if is_ours:
                        self._work_on()
            except DexError:
                # A full disk or a busy file passes.
                self._stopping.wait(_FAULT_SECONDS)

    def _work_on(self) -> None:
        """Work until stopped, whatever is in the way."""
        crew = self._crew()
        try:
            while not self._stopping.is_set():
                try:
                    self._work(crew, until_idle=False)
                except DexError:
                    self._stopping.wait(_FAULT_SECONDS)
        finally:
            crew.end(_GRACE_SECONDS)

    def run(self, *, until_idle: bool) -> None:
        """Work in the foreground: until stopped, or until nothing is due any more.

        Attempts that are under way are waited for; Ctrl-C during that leaves them, and they do not count.

        Raises:
            DexError: the file cannot be used, or an attempt met a fault of ours.
        """
        self._failure = None
        with self._turn(until_idle=until_idle) as is_ours:
            if is_ours:
                self._work_through(until_idle=until_idle)
        if self._failure is not None:
            raise self._failure

    def _work_through(self, *, until_idle: bool) -> None:
        crew = self._crew()
        patience: float | None = None
        try:
            while not self._stopping.is_set() and self._failure is None:
                if not self._work(crew, until_idle=until_idle) and until_idle:
                    break
        except BaseException as error:
            if not isinstance(error, DexError):
                self._stopping.set()
            if not isinstance(error, (DexError, KeyboardInterrupt)):
                patience = _GRACE_SECONDS  # a deadline has come
            raise
        finally:
            if not crew.end(_MOMENT_SECONDS):
                names = ", ".join(work.name for work in crew.longer_than(0).values())
                _log.warning("waiting for %s; Ctrl-C leaves it to be run again", names)
                crew.end(patience)

    @contextmanager
    def _turn(self, *, until_idle: bool) -> Iterator[bool]:
        """Wait until this process is the one that works; False where it is stopped first, or others leave nothing."""
        if not self._find_file(until_idle=until_idle):
            yield False
            return
        try:
            lock = os.open(self.lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Refused(
                f"cannot use {self.lock_path}: {error.strerror}",
                "check the folder's owner and mode",
                path=str(self.lock_path),
            ) from error
        try:
            is_ours = self._take(lock, until_idle=until_idle)
            if is_ours:
                self._begun = BegunAttempts(lock, self.lock_path)
                with self._parts.readers.snapshot() as snapshot:
                    self._begun.keep(partial(_is_open, snapshot.connection))
            yield is_ours
        finally:
            self._leave()
            os.close(lock)

    def _leave(self) -> None:
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.close()

    def _find_file(self, *, until_idle: bool) -> bool:
        """Wait until somebody's first commit makes the file; without it there is nothing to do."""
        while not self._stopping.is_set():
            seen = self._parts.work.seen()
            if not is_missing(self._parts.readers.path):
                return True
            if until_idle:
                return False
            self._parts.work.wait(seen, _POLL_SECONDS)
        return False

    def _take(self, lock: int, *, until_idle: bool) -> bool:
        is_told = self._thread is not None  # nobody looks at the background
        while not self._stopping.is_set():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if until_idle and not self._due(frozenset()):
                    return False
                if not is_told:
                    is_told = True
                    _log.warning("another process works the Flows of this data directory; this one stands by")
                self._stopping.wait(_POLL_SECONDS)
            else:
                return True
        return False

    def _crew(self) -> Crew[_Work]:
        return Crew(self._attempt, self._parts.work.notify)

    def _work(self, crew: Crew[_Work], *, until_idle: bool) -> bool:
        """Hand over what is due, and wait for a moment where nothing is; False where nothing is under way either."""
        seen = self._parts.work.seen()
        # What is under way now may be over in the snapshot that follows, but is never in it by half.
        busy = crew.keys()
        due = self._due(busy) if crew.waiting < THREADS else {}
        for key, work in due.items():
            crew.put(key, work)
        crew.grow()
        self._tell(crew)
        if not due and (busy or not until_idle):
            self._parts.work.wait(seen, _POLL_SECONDS)
        return bool(due or busy)

    def _tell(self, crew: Crew[_Work]) -> None:
        """Say once what has been running for long."""
        long = crew.longer_than(_TOLD_SECONDS)
        for key, work in long.items():
            if key not in self._told:
                _log.warning("%s has been running for more than %g s", work.name, _TOLD_SECONDS)
        if len(long) == MOST_THREADS > len(self._told):
            _log.warning("%d handlers have been running for long: nothing else is worked before one ends", len(long))
        self._told = frozenset(long)

    def _due(self, busy: Collection[Any]) -> dict[Any, _Work]:
        """Give what is due and not under way, by what it is about: closes, timeouts and steps."""
        types = self._parts.registry.types
        lost = {} if self._begun is None else self._begun.lost
        limit = _BATCH + len(busy)
        due: dict[Any, _Work] = {}
        with self._parts.readers.brief() as snapshot:
            connection = snapshot.connection
            now_ms = self._parts.now_ms(snapshot)
            for run in outbox.closable(connection):
                if not self._parts.locks.under_way(run.run_id):
                    end = partial(self._parts.commit, CloseEnded(run_id=run.run_id))
                    due["close", run.id] = _Work(f"the close of Flow {run.flow_id!r}", end, now_ms)
            for run in runs.timed_out(connection, list(types), now_ms, limit):
                begun = Begun(run.run_id)
                ask = partial(time_out, self._parts, run, types[run.type], lost=begun in lost)
                name = f"handle_timeout of Flow {run.flow_id!r}"
                due["timeout", run.id] = _Work(name, ask, now_ms, begun, begun in lost)
            found = steps.due(connection, list(types), now_ms, limit)
            found = [step for step in found if (step.run, step.type, step.number) not in busy]
            of_steps = {id_: runs.by_id(connection, id_) for id_ in {step.run for step in found}}
        for step in found:
            run = of_steps[step.run]
            begun = Begun.of_step(run, step)
            at = lost.get(begun, now_ms)
            attempt = Attempt(self._parts, run, types[run.type], step, now_ms=at, is_stopping=self._stopping.is_set)
            run_it = partial(attempt.run, lost=begun in lost)
            name = f"Step {step.execution_id} of Flow {run.flow_id!r}"
            due[step.run, step.type, step.number] = _Work(name, run_it, now_ms, begun, begun in lost)
        return {key: work for key, work in due.items() if key not in busy}

    def _attempt(self, work: _Work) -> None:
        if self._stopping.is_set():
            return  # it stood in line
        try:
            with self._noted(work):
                work.do()
        except DexError:
            # The run was closed meanwhile, a lock is held or the disk is full: what is still due is tried again.
            self._stopping.wait(_LOCK_RETRY_SECONDS)
        except Exception as error:  # noqa: BLE001  # one attempt's fault must not stop the work of all others
            self._failure = DexError(f"the worker met a fault: {shown_error(error)}", "report it as a bug")
            _log.exception("the worker met a fault")
            self._stopping.wait(_FAULT_SECONDS)

    @contextmanager
    def _noted(self, work: _Work) -> Iterator[None]:
        """Have a handler noted as begun while it is; one that was lost is forgotten once that is counted."""
        begun = self._begun
        if begun is None or work.begun is None:
            yield
        elif work.lost:
            yield
            begun.settle(work.begun)
        else:
            with begun.begin(work.begun, work.at):
                yield


def _is_open(connection: sqlite3.Connection, begun: Begun) -> bool:
    """Tell whether an attempt that has begun was never committed, and its run still needs it."""
    run = runs.by_run_id(connection, begun.run_id)
    if run is None or not run.running or run.closing is not None:
        return False
    if not begun.type:
        return run.timeout_at is not None
    step = steps.get(connection, run.id, begun.type, begun.number)
    return step is not None and step.status == "ready" and Begun.of_step(run, step) == begun
