"""Barriers for strict reads, shared: one is under way at a time, and who comes meanwhile waits for the next."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from dex.engine.cluster.verdicts import Found
from dex.wcl.errors import DexError

Landed = Future[Any]


class Barriers:
    """`publish` begins one; what it is given is called with the verdict, once this node has applied the barrier."""

    def __init__(self, publish: Callable[[Callable[[Found], None]], None]) -> None:
        self._publish = publish
        self._lock = threading.RLock()
        self._next: Landed | None = None
        self._is_flying = False

    def join(self) -> Landed:
        """Give what tells of a barrier that begins after this call. Many may wait for it, and none may cancel it."""
        with self._lock:
            joined = self._next = self._next or Future()
            if not self._is_flying:
                self._fly()
            return joined

    def _fly(self) -> None:
        landing, self._next = self._next, None
        if landing is None:
            return
        self._is_flying = True
        self._publish(lambda found: self._land(landing, found))

    def _land(self, landing: Landed, found: Found) -> None:
        (verdict,) = found
        with suppress(InvalidStateError):  # the engine was closed
            if isinstance(verdict, DexError):
                landing.set_exception(verdict)
            else:
                landing.set_result(None)
        with self._lock:
            self._is_flying = False
            self._fly()
