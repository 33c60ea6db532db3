"""What makes a whole store wait: a failure of all of it, or several runs that time out in a row (spec: Y-18, Y-19)."""

import threading
from typing import NamedTuple

from dex.engine.clock import Clock
from dex.engine.sync.config import SyncRetryPolicy

_TIMEOUTS_OF_A_STORE = 3


def delay_ms(retry: SyncRetryPolicy, attempts: int) -> int:
    """Give the delay after the failed attempt number `attempts`, from 1 (spec: Y-19)."""
    ceiling = retry.maximum_interval
    try:
        delay = retry.initial_interval * retry.backoff_coefficient ** (attempts - 1)
    except OverflowError:
        delay = ceiling
    return int(min(delay, ceiling) * 1000)


class Wait(NamedTuple):
    """When a store is to be tried again, in ms since the epoch, after how many failures in a row."""

    attempts: int
    due_ms: int


class StoreBackoff:
    """The failures of one store, as the threads that write to it meet them."""

    def __init__(self, retry: SyncRetryPolicy, clock: Clock) -> None:
        self._retry = retry
        self._clock = clock
        self._lock = threading.Lock()
        self._attempts = 0
        self._due = 0.0
        self._counted = 0
        self._timed_out: set[int] = set()
        self._failed_run: int | None = None

    def is_waiting(self) -> bool:
        """Tell whether nothing may be written now."""
        return self._clock.monotonic() < self._due

    def begin(self) -> int:
        """Give how many failures have been counted when a write begins, to be handed to `fail`."""
        return self._counted

    def fail(self, run: int, begun: int) -> Wait | None:
        """Count a failure of the store, met by a run; None where one was counted since the write began.

        Threads that write side by side meet the same failure, which is one.
        """
        with self._lock:
            if self._counted != begun:
                return None
            self._counted += 1
            self._attempts += 1
            delay = delay_ms(self._retry, self._attempts)
            self._due = self._clock.monotonic() + delay / 1000
            self._timed_out.clear()
            self._failed_run = run
            return Wait(self._attempts, self._clock.now_ms() + delay)

    def time_out(self, run: int) -> bool:
        """Count a run that timed out; tell whether so many have, with no commit in between, that the store failed."""
        with self._lock:
            self._timed_out.add(run)
            return len(self._timed_out) >= _TIMEOUTS_OF_A_STORE

    def succeed(self) -> bool:
        """Count a commit; tell whether it ended failures of the store."""
        with self._lock:
            self._timed_out.clear()
            recovered, self._attempts, self._due = self._attempts > 0, 0, 0.0
            return recovered

    def take_failed_run(self) -> int | None:
        """Give the run that met a failure since this was asked last: others are to be tried before it."""
        with self._lock:
            run, self._failed_run = self._failed_run, None
            return run
