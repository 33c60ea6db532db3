"""The threads of a worker: a few, and another one for each attempt that has run for long, up to a bound (spec: FL-08).

So a handler that hangs or takes its time does not hold up the others. The threads are daemons, since nothing can end
one that hangs: whoever ends the crew decides how long to wait.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

THREADS = 8
MOST_THREADS = 64
LONG_SECONDS = 10.0

W = TypeVar("W")


class Crew(Generic[W]):
    """Does pieces of work, each known by a key, in the order in which they are put; `done` is called after each."""

    def __init__(self, do: Callable[[W], None], done: Callable[[], None]) -> None:
        self._do = do
        self._done = done
        self._changed = threading.Condition()
        self._line: deque[tuple[Any, W]] = deque()
        self._under_way: dict[Any, tuple[W, float]] = {}
        self._threads: set[threading.Thread] = set()
        self._ending = False

    @property
    def waiting(self) -> int:
        """How many pieces stand in line."""
        return len(self._line)

    def keys(self) -> frozenset[Any]:
        """Give the keys of all that is in line or under way."""
        with self._changed:
            return frozenset([*self._under_way, *(key for key, _ in self._line)])

    def put(self, key: Any, work: W) -> None:
        """Put a piece of work in line."""
        with self._changed:
            self._line.append((key, work))
            self._changed.notify()
        self.grow()

    def grow(self) -> None:
        """Start a thread where more stands in line than idle threads can take, and there may be one more."""
        with self._changed:
            idle = len(self._threads) - len(self._under_way)
            if len(self._line) > idle and len(self._threads) < self._most():
                thread = threading.Thread(target=self._work, name="dex-step", daemon=True)
                with suppress(RuntimeError):  # the system has no more threads, or the program is ending
                    thread.start()
                    self._threads.add(thread)

    def longer_than(self, seconds: float) -> dict[Any, W]:
        """Give what has been under way for longer."""
        before = time.monotonic() - seconds
        with self._changed:
            return {key: work for key, (work, began) in self._under_way.items() if began < before}

    def end(self, seconds: float | None) -> bool:
        """Let what is put end, for some seconds or for as long as it takes, and tell whether it has."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
            threads = [*self._threads]
        deadline = None if seconds is None else time.monotonic() + seconds
        for thread in threads:
            thread.join(None if deadline is None else max(deadline - time.monotonic(), 0))
        return not any(thread.is_alive() for thread in threads)

    def _most(self) -> int:
        return min(THREADS + len(self.longer_than(LONG_SECONDS)), MOST_THREADS)

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            key, work = taken
            try:
                self._do(work)
            finally:
                with self._changed:
                    del self._under_way[key]
                self._done()

    def _take(self) -> tuple[Any, W] | None:
        """Wait for the next piece; None once the crew ends, or where there are threads enough without this one."""
        with self._changed:
            while len(self._threads) <= self._most():
                if self._line:
                    key, work = self._line.popleft()
                    self._under_way[key] = work, time.monotonic()
                    return key, work
                if self._ending:
                    break
                self._changed.wait()
            self._threads.discard(threading.current_thread())
            return None
