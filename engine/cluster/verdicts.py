"""What became of records that were sent to a journal together, one answer for all of them."""

import threading
from collections.abc import Callable
from typing import Any

from dex.wcl.errors import DexError

Found = list[Any | DexError]

_MISSING: Any = object()


class Verdicts:
    """A place for the verdict of each record, `found`; `on_done` is given it once none is missing.

    Who waits is woken once for all that it has sent, since waking a thread costs more than applying a put.
    """

    __slots__ = ("_gate", "_lock", "_missing", "_on_done", "found")

    def __init__(self, count: int, on_done: Callable[[Found], None] | None = None) -> None:
        self.found: Found = [_MISSING] * count
        self._missing = count
        self._on_done = on_done
        self._lock = threading.Lock()
        # Held until none is missing: a lock by itself is the cheapest to wait for.
        self._gate = threading.Lock()
        self._gate.acquire()

    def give(self, place: int, verdict: Any | DexError) -> None:
        """Give the verdict of one record; only the first counts. From any thread."""
        with self._lock:
            if self.found[place] is not _MISSING:
                return
            self.found[place] = verdict
            self._missing -= 1
            if self._missing:
                return
        self._gate.release()
        if self._on_done is not None:
            self._on_done(self.found)

    def has(self, place: int) -> bool:
        """Tell whether a record has its verdict."""
        return self.found[place] is not _MISSING

    def give_missing(self, verdict: DexError) -> None:
        """Give the same verdict to all records that have none."""
        for place in range(len(self.found)):
            self.give(place, verdict)

    def wait(self, seconds: float) -> bool:
        """Wait until no verdict is missing; tell whether that came about in time. For one thread."""
        return self._gate.acquire(timeout=max(0.0, seconds))
