"""Work that no caller waits for: sweeping, materialising, trimming. Each pass is a short commit of its own."""

import sqlite3
import threading
import time
from typing import NamedTuple

from dex.engine import journal, outcomes
from dex.engine.catalog import Catalog
from dex.engine.clock import Clock
from dex.engine.stores.materialise import catch_up, is_behind
from dex.engine.sweep import sweep, sweep_purged
from dex.engine.writer import Pass, Writer
from dex.wcl.errors import DexError

_PASS_SECONDS = 0.002
_REST = 2.0
# A put that takes a pass along is later than others, so that few may: fewer than the hundredth that its p99 leaves out.
_RIDING_REST_SECONDS = 0.25
_QUIET_MS = 200
_RETRY_SECONDS = 1.0
# Closing waits for the pass that is under way, which must not wait long for other processes.
_PATIENCE_SECONDS = 0.05


class Retention(NamedTuple):
    """How much of the journal is kept: a record goes when it is older than the one or beyond the other."""

    max_bytes: int = 256 * 1024 * 1024
    max_age_ms: int = 7 * 24 * 3600 * 1000


class Housekeeping:
    """The passes, and the thread that runs them while there is work. The thread starts when first woken."""

    def __init__(self, clock: Clock, retention: Retention) -> None:
        self._clock = clock
        self._retention = retention
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closing = threading.Event()
        self._busy = False

    def wake(self, writer: Writer) -> None:
        """Have the passes run until nothing is left."""
        self._idle.clear()
        self._wanted.set()
        with self._starting:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._loop, args=(writer,), name="dex-housekeeping", daemon=True)
                self._thread.start()

    def stop(self, grace: float) -> None:
        """End the thread after the pass it is in, or up to `grace` seconds later where work is left."""
        self._closing.set()
        with self._starting:  # another thread's commit may be about to start it
            thread = self._thread
            if thread is None:
                self._stopping.set()
                return
        self._idle.wait(grace)
        self._stopping.set()
        self._wanted.set()
        thread.join()

    def pause(self, seconds: float) -> None:
        """Wait, unless the engine is being closed."""
        self._stopping.wait(seconds)

    def one_pass(self, seconds: float = _PASS_SECONDS, *, yielding: bool = False) -> Pass:
        """Give a pass of about `seconds` for `Writer.run`.

        Where `yielding`, it sweeps as little as it can while there are writers, and the next pass rides along with one
        of their commits, so that no put waits for a commit of ours.
        """

        def run(connection: sqlite3.Connection, catalog: Catalog, head: journal.Head) -> bool:
            behind = [(s, s.feed) for s in catalog.stores.values() if s.feed is not None and is_behind(connection, s)]
            more = len(behind) > 1
            if behind:
                more = catch_up(connection, *behind[0], seconds) or more
            now = self._clock.now_ms()
            self._busy = yielding and now - head.at < _QUIET_MS and not self._closing.is_set()
            more = sweep(connection, catalog, 0 if self._busy else seconds) or more
            more = sweep_purged(connection, 0 if self._busy else seconds) or more
            more = outcomes.sweep(connection, head.at) or more
            return journal.trim(connection, now, self._retention.max_bytes, self._retention.max_age_ms) or more

        return run

    def _loop(self, writer: Writer) -> None:
        """Run passes while there is work, resting in between so that callers come first."""
        work = self.one_pass(yielding=True)
        while True:
            self._wanted.wait()
            if self._stopping.is_set():
                return
            self._wanted.clear()
            more = True
            while more and not self._stopping.is_set():
                began = time.monotonic()
                try:
                    ridden = writer.ride(work, _PATIENCE_SECONDS) if self._busy else None
                    more = writer.run(work, _PATIENCE_SECONDS) if ridden is None else ridden
                except DexError:
                    # A full disk or a busy file: callers are told, housekeeping only tries again later.
                    self._stopping.wait(_RETRY_SECONDS)
                else:
                    if more:
                        rest = (time.monotonic() - began) * _REST if ridden is None else _RIDING_REST_SECONDS
                        self._closing.wait(rest)
            if not self._wanted.is_set():
                self._idle.set()
