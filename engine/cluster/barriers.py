"""Barriers for strict reads, shared: one is under way at a time, and who comes meanwhile waits for the next."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from dex.engine.cluster.verdicts import Verdicts
from dex.wcl.errors import DexError

Landed = Future[Any]


class Barriers:
    """`publish` begins one and gives what tells that this node has applied it."""

    def __init__(self, publish: Callable[[], Verdicts]) -> None:
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
        self._publish().done.add_done_callback(lambda sent: self._land(landing, sent))

    def _land(self, landing: Landed, sent: Landed) -> None:
        (verdict,) = sent.result()
        with suppress(InvalidStateError):  # the engine was closed
            if isinstance(verdict, DexError):
                landing.set_exception(verdict)
            else:
                landing.set_result(None)
        with self._lock:
            self._is_flying = False
            self._fly()
