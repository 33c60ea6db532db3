"""The worker: executes steps whose time has come, fires timers and timeouts, and ends closes that a crash left.

One process of a data directory works at a time: it holds a lock on a file, which the system releases when the
process ends, however it ends. The others stand by.
"""

import fcntl
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dex.engine.flows.records import CloseEnded
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.runtime.stepping import Attempt
from dex.engine.flows.runtime.timeouts import time_out
from dex.engine.flows.state import outbox, runs, steps
from dex.engine.sqlite.connection import is_missing
from dex.wcl.errors import DexError, Refused

_log = logging.getLogger(__name__)
_THREADS = 8
_BATCH = 64
# More is looked for once so little is left that the threads would soon have nothing to do.
_REFILL = 2 * _THREADS
# How long the worker sleeps at most: commits of other processes do not wake it.
_POLL_SECONDS = 0.05
_LOCK_RETRY_SECONDS = 0.02
_FAULT_SECONDS = 1.0


class Worker:
    """Works the Flows whose types this process knows, in threads of its own."""

    def __init__(self, parts: Parts, lock_path: Path) -> None:
        self._parts = parts
        self._lock_path = lock_path
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._busy: set[Any] = set()
        self._failure: DexError | None = None

    def start(self) -> None:
        """Work in the background from now on."""
        with self._mutex:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._background, name="dex-worker", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the background work after the attempts that are under way."""
        self._stopping.set()
        self._parts.work.notify()
        if self._thread is not None:
            self._thread.join()

    def _background(self) -> None:
        self._loop(until_idle=False, foreground=False)

    def run(self, *, until_idle: bool) -> None:
        """Work in the foreground: until stopped, or until nothing is due any more.

        Raises:
            DexError: the file cannot be used, or an attempt met a fault of ours.
        """
        self._loop(until_idle=until_idle, foreground=True)
        if self._failure is not None:
            raise self._failure

    def _loop(self, *, until_idle: bool, foreground: bool) -> None:
        while not self._stopping.is_set():
            try:
                with self._turn(until_idle=until_idle) as is_ours:
                    if is_ours:
                        self._work(until_idle=until_idle, foreground=foreground)
            except DexError as error:
                self._failure = error
            if foreground:
                return
            # A full disk or a busy file passes; whoever works in the background goes on then.
            self._stopping.wait(_FAULT_SECONDS)

    @contextmanager
    def _turn(self, *, until_idle: bool) -> Iterator[bool]:
        """Wait until this process is the one that works; False where it is stopped first, or others leave nothing."""
        if not self._find_file(until_idle=until_idle):
            yield False
            return
        try:
            lock = os.open(self._lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Refused(
                f"cannot use {self._lock_path}: {error.strerror}",
                "check the folder's owner and mode",
                path=str(self._lock_path),
            ) from error
        try:
            yield self._take(lock, until_idle=until_idle)
        finally:
            os.close(lock)

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
        while not self._stopping.is_set():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if until_idle and not self._due(frozenset()):
                    return False
                self._stopping.wait(_POLL_SECONDS)
            else:
                return True
        return False

    def _work(self, *, until_idle: bool, foreground: bool) -> None:
        pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="dex-step")
        try:
            while not self._stopping.is_set():
                seen = self._parts.work.seen()
                # What is under way now may be over in the snapshot that follows, but is never in it by half.
                with self._mutex:
                    busy = frozenset(self._busy)
                due = self._due(busy) if len(busy) < _REFILL else {}
                for key, work in due.items():
                    self._submit(pool, key, work)
                if foreground and (self._failure is not None or (until_idle and not due and not busy)):
                    return
                if not due:
                    self._parts.work.wait(seen, _POLL_SECONDS)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _due(self, busy: Collection[Any]) -> dict[Any, Callable[[], object]]:
        """Give what is due and not under way, by what it is about: closes, timeouts and steps."""
        types = self._parts.registry.types
        limit = _BATCH + len(busy)
        due: dict[Any, Callable[[], object]] = {}
        with self._parts.readers.snapshot() as snapshot:
            connection = snapshot.connection
            now_ms = self._parts.now_ms(snapshot)
            for run in outbox.closable(connection):
                if not self._parts.locks.under_way(run.run_id):
                    due["close", run.id] = partial(self._parts.commit, CloseEnded(run_id=run.run_id))
            for run in runs.timed_out(connection, list(types), now_ms, limit):
                due["timeout", run.id] = partial(time_out, self._parts, run, types[run.type])
            found = steps.due(connection, list(types), now_ms, limit)
            found = [step for step in found if (step.run, step.type, step.number) not in busy]
            of_steps = {id_: runs.by_id(connection, id_) for id_ in {step.run for step in found}}
        for step in found:
            run = of_steps[step.run]
            attempt = Attempt(self._parts, run, types[run.type], step, now_ms=now_ms, is_stopping=self._stopping.is_set)
            due[step.run, step.type, step.number] = attempt.run
        return {key: work for key, work in due.items() if key not in busy}

    def _submit(self, pool: ThreadPoolExecutor, key: Any, work: Callable[[], object]) -> None:
        with self._mutex:
            self._busy.add(key)
        try:
            pool.submit(self._attempt, work).add_done_callback(lambda _: self._done(key))
        except RuntimeError:
            # The program is ending, and starts no threads any more.
            self._stopping.set()

    def _attempt(self, work: Callable[[], object]) -> None:
        if self._stopping.is_set():
            return  # it stood in line
        try:
            work()
        except DexError:
            # The run was closed meanwhile, a lock is held or the disk is full: what is still due is tried again.
            self._stopping.wait(_LOCK_RETRY_SECONDS)
        except Exception as error:  # noqa: BLE001  # one attempt's fault must not stop the work of all others
            self._failure = DexError(f"the worker met a fault: {type(error).__name__}: {error}", "report it as a bug")
            _log.exception("the worker met a fault")
            self._stopping.wait(_FAULT_SECONDS)

    def _done(self, key: Any) -> None:
        with self._mutex:
            self._busy.discard(key)
        self._parts.work.notify()
