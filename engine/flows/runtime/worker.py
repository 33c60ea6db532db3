"""The worker: executes steps whose time has come, fires timers and timeouts, and ends closes that a crash left.

One process of a data directory works at a time: it holds a lock on a file, which the system releases when the
process ends, however it ends. The others stand by.
"""

import fcntl
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dex.engine.flows.records import CloseEnded
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.runtime.stepping import Attempt
from dex.engine.flows.runtime.timeouts import time_out
from dex.engine.flows.state import runs, steps
from dex.engine.flows.state.runs import Run
from dex.engine.flows.state.steps import Step
from dex.wcl.errors import DexError

_THREADS = 8
_BATCH = 64
# How long the worker sleeps at most: commits of other processes do not wake it.
_POLL_SECONDS = 0.05
_LOCK_RETRY_SECONDS = 0.02


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
                self._thread = threading.Thread(target=self._loop, args=(False,), name="dex-worker", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the background work after the attempts that are under way."""
        self._stopping.set()
        self._parts.work.notify()
        if self._thread is not None:
            self._thread.join()

    def run(self, *, until_idle: bool) -> None:
        """Work in the foreground: until stopped, or until nothing is due any more.

        Raises:
            DexError: the file cannot be used.
        """
        self._loop(until_idle)
        if self._failure is not None:
            raise self._failure

    def _loop(self, until_idle: bool) -> None:
        lock = os.open(self._lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            if not self._take(lock, until_idle):
                return
            with ThreadPoolExecutor(_THREADS, thread_name_prefix="dex-step") as pool:
                self._work(pool, until_idle)
        except DexError as error:
            self._failure = error
        finally:
            os.close(lock)

    def _take(self, lock: int, until_idle: bool) -> bool:
        """Wait until this process is the one that works; False where it is stopped first, or others leave nothing."""
        while not self._stopping.is_set():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if until_idle and not any(self._due()):
                    return False
                self._stopping.wait(_POLL_SECONDS)
            else:
                return True
        return False

    def _work(self, pool: ThreadPoolExecutor, until_idle: bool) -> None:
        while not self._stopping.is_set():
            seen = self._parts.work.seen()
            found = self._submit_due(pool)
            with self._mutex:
                busy = bool(self._busy)
            if not found and not busy and until_idle:
                return
            if not found:
                self._parts.work.wait(seen, _POLL_SECONDS)

    def _due(self) -> tuple[list[Run], list[Run], list[tuple[Run, Step]]]:
        """Give the runs whose close or timeout is due, and the steps that are."""
        types = self._parts.registry.types
        now_ms = self._parts.clock.now_ms()
        with self._parts.readers.snapshot() as snapshot:
            connection = snapshot.connection
            closing = [run for run in runs.waiting_to_close(connection) if not self._parts.locks.under_way(run.run_id)]
            timed_out = [run for run in runs.timed_out(connection, now_ms, _BATCH) if run.type in types]
            due = []
            for step in steps.due(connection, list(types), now_ms, _BATCH):
                run = runs.by_id(connection, step.run)
                due.append((run, step))
        return closing, timed_out, due

    def _submit_due(self, pool: ThreadPoolExecutor) -> bool:
        """Hand what is due to the threads; tell whether there was anything that is not under way already."""
        types = self._parts.registry.types
        closing, timed_out, due = self._due()
        found = False
        for run in closing:
            found |= self._submit(pool, ("close", run.id), self._parts.commit, CloseEnded(run_id=run.run_id))
        for run in timed_out:
            found |= self._submit(pool, ("timeout", run.id), time_out, self._parts, run, types[run.type])
        for run, step in due:
            attempt = Attempt(self._parts, run, types[run.type], step)
            found |= self._submit(pool, (step.run, step.type, step.number), attempt.run)
        return found

    def _submit(self, pool: ThreadPoolExecutor, key: Any, work: Callable[..., Any], *arguments: Any) -> bool:
        with self._mutex:
            if key in self._busy:
                return False
            self._busy.add(key)
        future = pool.submit(self._attempt, work, *arguments)
        future.add_done_callback(lambda done: self._done(key, done))
        return True

    def _attempt(self, work: Callable[..., Any], *arguments: Any) -> None:
        try:
            work(*arguments)
        except DexError:
            # The run was closed meanwhile, a lock is held or the disk is full: what is still due is tried again.
            self._stopping.wait(_LOCK_RETRY_SECONDS)

    def _done(self, key: Any, done: "Future[None]") -> None:
        with self._mutex:
            self._busy.discard(key)
        error = done.exception()
        if error is not None:
            self._failure = DexError(f"the worker met a fault: {type(error).__name__}: {error}", "report it as a bug")
            self._stopping.set()
        self._parts.work.notify()
