"""Locks of attributes: held by the process that runs the handler, all or none, never queued (spec: FL-07).

They vanish with the process. Across processes the version of each locked attribute is checked at commit.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dex.wcl.errors import RPCLockConflict


def lock_conflict(flow_id: str, key: str) -> RPCLockConflict:
    """Give the error for a lock that somebody else has."""
    return RPCLockConflict(
        f"attribute {key!r} of Flow {flow_id!r} is locked by another call",
        "try again in a moment; nothing was changed",
        flow_id=flow_id,
        locks=[key],
    )


class Locks:
    """The locks that are held in this process, and how many calls of each run a close has to wait for."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._held: set[tuple[str, str]] = set()
        self._calls: Counter[str] = Counter()
        self._closing: set[str] = set()

    @contextmanager
    def hold(self, flow_id: str, keys: Iterable[str]) -> Iterator[None]:
        """Hold the locks of some attributes of a Flow.

        Raises:
            RPCLockConflict: one of them is held by another call; then none is taken.
        """
        wanted = {(flow_id, key) for key in keys}
        with self._mutex:
            for lock in sorted(wanted & self._held):
                raise lock_conflict(*lock)
            self._held |= wanted
        try:
            yield
        finally:
            with self._mutex:
                self._held -= wanted

    def admit(self, run_id: str) -> bool:
        """Count a transactional or locking call of a run as under way, unless a close of it is being committed."""
        with self._mutex:
            if run_id in self._closing:
                return False
            self._calls[run_id] += 1
            return True

    def leave(self, run_id: str) -> bool:
        """Count a call as ended, and tell whether it was the run's last one."""
        with self._mutex:
            self._calls[run_id] -= 1
            if self._calls[run_id] > 0:
                return False
            del self._calls[run_id]
            return True

    @contextmanager
    def close(self, run_id: str) -> Iterator[bool]:
        """Admit no more calls of a run while its close is committed; gives whether calls hold it open (spec: FL-14)."""
        with self._mutex:
            self._closing.add(run_id)
            held = self._calls[run_id] > 0
        try:
            yield held
        finally:
            with self._mutex:
                self._closing.discard(run_id)

    def under_way(self, run_id: str) -> bool:
        """Tell whether a transactional or locking call of a run is under way."""
        with self._mutex:
            return self._calls[run_id] > 0
