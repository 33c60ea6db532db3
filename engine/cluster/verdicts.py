"""What became of records that were sent to a journal together, one answer for all of them."""

import threading
from concurrent.futures import Future
from typing import Any

from dex.wcl.errors import DexError

_MISSING: Any = object()


class Verdicts:
    """A place for the verdict of each record; `done` has them once none is missing.

    Who waits is woken once for all that it has sent, since waking a thread costs more than applying a put.
    """

    def __init__(self, count: int) -> None:
        self.done: Future[list[Any | DexError]] = Future()
        self._found: list[Any | DexError] = [_MISSING] * count
        self._missing = count
        self._lock = threading.Lock()

    def give(self, place: int, verdict: Any | DexError) -> None:
        """Give the verdict of one record; only the first counts. From any thread."""
        with self._lock:
            if self._found[place] is not _MISSING:
                return
            self._found[place] = verdict
            self._missing -= 1
            if self._missing:
                return
        self.done.set_result(self._found)

    def give_missing(self, verdict: DexError) -> None:
        """Give the same verdict to all records that have none."""
        for place in range(len(self._found)):
            self.give(place, verdict)
