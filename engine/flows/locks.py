"""Locks of attributes: held by the process that runs the handler, all or none, never queued (spec: FL-07).

Here is what the threads of one process hold; a gate tells the other processes, and which runs have calls that a close
has to wait for. Locks vanish with the process. Who writes without them is found at commit, by the version of each
locked attribute.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dex.engine.flows.callgate import CallGate
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

    def __init__(self, gate: CallGate) -> None:
        self._gate = gate
        self._shut: set[str] = set()
        self._mutex = threading.Lock()
        self._committed = threading.Condition(self._mutex)
        self._held: set[tuple[str, str]] = set()
        self._calls: Counter[str] = Counter()
        self._closing: Counter[str] = Counter()
        self._held_open: set[str] = set()

    @contextmanager
    def hold(self, flow_id: str, keys: Iterable[str]) -> Iterator[None]:
        """Hold the locks of some attributes of a Flow.

        Raises:
            RPCLockConflict: one of them is held by another call; then none is taken.
        """
        wanted = sorted(keys)
        if not wanted:
            yield
            return
        mine: set[tuple[str, str]] = set()
        # An interrupt can strike as soon as they are held, so that they are taken inside of what releases them; and it
        # can strike in there.
        try:
            try:
                self._take(flow_id, wanted, mine)
                yield
            finally:
                self._release(flow_id, wanted, mine)
        finally:
            self._release(flow_id, wanted, mine)

    def _take(self, flow_id: str, keys: list[str], mine: set[tuple[str, str]]) -> None:
        with self._mutex:
            wanted = {(flow_id, key) for key in keys}
            for lock in sorted(wanted & self._held):
                raise lock_conflict(*lock)
            mine |= wanted
            self._held |= mine
            elsewhere = self._gate.lock(flow_id, keys)
            if elsewhere is not None:
                raise lock_conflict(flow_id, elsewhere)

    def _release(self, flow_id: str, keys: list[str], mine: set[tuple[str, str]]) -> None:
        with self._mutex:
            if mine:
                self._gate.unlock(flow_id, keys)
                self._held -= mine
                mine.clear()

    def admit(self, run_id: str) -> None:
        """Count a transactional or locking call of a run as under way, after a close that is being committed.

        Whoever is admitted looks whether the run is closing now, in a snapshot of after its admission.
        """
        with self._mutex:
            while run_id in self._closing:
                self._committed.wait()
            if run_id not in self._calls:
                self._gate.enter(run_id)
            self._calls[run_id] += 1

    def leave(self, run_id: str) -> bool:
        """Count a call as ended, and tell whether it was the last that may hold a close open."""
        with self._mutex:
            self._calls[run_id] -= 1
            if self._calls[run_id] > 0:
                return False
            del self._calls[run_id]
            self._gate.leave(run_id)
            held_open = run_id in self._held_open
            self._held_open.discard(run_id)
            return held_open

    def leave_file(self) -> None:
        """Let go of what tells the other processes; calls that are under way end without it."""
        with self._mutex:
            self._gate.close()

    @contextmanager
    def close(self, run_id: str) -> Iterator[bool]:
        """Admit no more calls of a run while its close is committed; gives whether calls hold it open (spec: FL-14)."""
        with self._mutex:
            self._closing[run_id] += 1
            if self._gate.shut(run_id):
                self._shut.add(run_id)
            held = run_id not in self._shut
            if self._calls[run_id] > 0:
                self._held_open.add(run_id)
        try:
            yield held
        finally:
            with self._mutex:
                self._closing[run_id] -= 1
                if not self._closing[run_id]:
                    del self._closing[run_id]
                    self._reopen(run_id)
                    self._committed.notify_all()

    def under_way(self, run_id: str) -> bool:
        """Tell whether a transactional or locking call of a run is under way, in any process of the data directory."""
        with self._mutex:
            if self._calls[run_id] > 0 or run_id in self._shut:
                return self._calls[run_id] > 0
            if not self._gate.shut(run_id):
                return True
            self._gate.reopen(run_id)
            return False

    def _reopen(self, run_id: str) -> None:
        if run_id in self._shut:
            self._shut.discard(run_id)
            self._gate.reopen(run_id)
