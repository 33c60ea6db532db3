"""Who may write to the stores: one process of a data directory, by a lease whose epoch rises at each take-over.

The epoch is the fencing token in PostgreSQL, so that a process that lost its lease cannot overwrite newer values
(spec: Y-16, Y-17).
"""

import sqlite3
import threading
from enum import Enum
from typing import NamedTuple, Protocol

from dex.engine.clock import Clock
from dex.engine.writer import Writer
from dex.wcl.errors import FailedPrecondition

_LEASES_WITHOUT_RENEWAL = 3


class Held(NamedTuple):
    """A lease that this process holds.

    `since` is the epoch that it took it over with, and `until` is on its own monotonic clock, in seconds.
    """

    cluster_id: str
    epoch: int
    since: int
    until: float


class Rival(Enum):
    """Whose token rejected a write."""

    NONE = "this process's own, of a newer epoch"
    OWNER = "of a process that has taken the lease over"
    PAST = "of a time that the data directory does not know, as it was restored from a backup"
    COPY = "of another copy of the data directory"


class SyncLease(Protocol):
    """A right to write, for as long as it is held."""

    @property
    def held(self) -> Held | None:
        """The lease, None while another process has it."""

    def keep(self) -> Held | None:
        """Take the lease, or renew it once a third of it has passed; None while another process holds it.

        Raises:
            FailedPrecondition: the data directory has another cluster id than the configured one.
            Unavailable: the file is busy or full.
        """

    def remaining(self) -> float:
        """Give how many seconds the lease lasts, judged by this process's own clock."""

    def lose(self, token: int, *, has_written: bool) -> Rival:
        """Write no more, since a write was rejected by a token; tell whose that is.

        Raises:
            Unavailable: the file is busy or full.
        """

    def spend(self, epoch: int) -> None:
        """Write no more with an epoch: a write of it whose end is not known may still reach its table, late."""

    def release(self) -> None:
        """Give the lease up, so that another process need not wait for its end.

        Raises:
            Unavailable: the file is busy or full; the lease ends by itself then.
        """


class Lease:
    """The lease of one data directory, taken and renewed by this process.

    `duration_ms` is how long it lasts without renewal; `cluster_id` is the configured name of the data directory, or
    None to keep the one it has, which is made once.
    """

    def __init__(self, writer: Writer, clock: Clock, duration_ms: int, cluster_id: str | None) -> None:
        self._writer = writer
        self._clock = clock
        self._duration_ms = duration_ms
        self._wanted_cluster = cluster_id
        self._owner = clock.new_id()
        self._lock = threading.Lock()
        self._spent = 0
        self._newest = 0
        self._has_lost_to_copy = False
        self._since = 0
        self._seen: tuple[str, int] | None = None
        self._seen_at = 0.0
        self.held: Held | None = None

    def keep(self) -> Held | None:
        """Take the lease, or renew it once a third of it has passed; None while another process holds it.

        Raises:
            FailedPrecondition: the data directory has another cluster id than the configured one.
            Unavailable: the file is busy or full.
        """
        if self.remaining() > self._duration_ms * 2 / 3000:
            return self.held
        asked = self._clock.monotonic()
        found: list[tuple[str, int, int] | None] = []

        def take(connection: sqlite3.Connection, *_: object) -> bool:
            found.append(self._take(connection))
            return False

        self._writer.run(take)
        granted = found[-1]
        with self._lock:
            usable = granted is not None and granted[1] > self._spent
            self.held = Held(*granted, asked + self._duration_ms / 1000) if granted is not None and usable else None
            self._newest = max(self._newest, 0 if granted is None else granted[1])
            return self.held

    def remaining(self) -> float:
        """Give how many seconds the lease lasts, judged by this process's own clock."""
        held = self.held  # another thread may lose it meanwhile
        return 0.0 if held is None else held.until - self._clock.monotonic()

    def lose(self, token: int, *, has_written: bool) -> Rival:
        """Write no more, since a write was rejected by a token; tell whose that is.

        `has_written` is whether an earlier write under it was accepted since this process took the lease over. If so,
        a token that nobody of this data directory has made was made meanwhile, by another copy of it that must not be
        outdone: only another take-over may. If not, the take-over found it, and the lease is taken again above it.

        Raises:
            Unavailable: the file is busy or full.
        """
        with self._lock:
            if token <= max(self._newest, self._spent):
                return Rival.NONE
            self.held = None
        known: list[int] = []

        def read(connection: sqlite3.Connection, *_: object) -> bool:
            known.extend(connection.execute("SELECT epoch FROM sync_lease").fetchone())
            return False

        self._writer.run(read)
        if token <= known[-1]:
            return Rival.OWNER
        with self._lock:
            if has_written:
                self._has_lost_to_copy = True
                return Rival.COPY
            self._spent = max(self._spent, token)
            return Rival.PAST

    def spend(self, epoch: int) -> None:
        """Write no more with an epoch: a write of it whose end is not known may still reach its table, late.

        The lease is taken again with a higher epoch, which fences that write off (spec: Y-26).
        """
        with self._lock:
            self._spent = max(self._spent, epoch)
            if self.held is not None and self.held.epoch <= epoch:
                self.held = None

    def release(self) -> None:
        """Give the lease up, so that another process need not wait for its end.

        Raises:
            Unavailable: the file is busy or full; the lease ends by itself then.
        """

        def give(connection: sqlite3.Connection, *_: object) -> bool:
            connection.execute("UPDATE sync_lease SET expires_at = 0 WHERE owner = ?", (self._owner,))
            return False

        self.held = None
        self._writer.run(give)

    def _take(self, connection: sqlite3.Connection) -> tuple[str, int, int] | None:
        """Give cluster id, epoch and the epoch of the take-over, None while another process holds the lease.

        Epochs of a data directory only rise, and only here: a process that was deposed reaches no epoch above that of
        its successor unless it takes over in turn, and then it reads the latest values (spec: Y-16).
        """
        now = self._clock.now_ms()
        row = connection.execute("SELECT cluster_id, owner, epoch, expires_at FROM sync_lease").fetchone()
        if row is None:
            cluster_id = self._wanted_cluster or self._clock.new_id()
            connection.execute(
                "INSERT INTO sync_lease (id, cluster_id, owner, epoch, expires_at) VALUES (1, ?, ?, 1, ?)",
                (cluster_id, self._owner, now + self._duration_ms),
            )
            self._since = 1
            return cluster_id, 1, 1
        cluster_id, owner, epoch, expires_at = row
        if self._wanted_cluster not in (None, cluster_id):
            raise FailedPrecondition(
                f"this data directory belongs to cluster {cluster_id!r}, not {self._wanted_cluster!r}",
                "take cluster.id out of the configuration, or name the right data directory",
                cluster_id=cluster_id,
            )
        taking_over = owner != self._owner
        if taking_over and expires_at > now and not self._has_stopped(owner, expires_at):
            return None
        if not taking_over and self._has_lost_to_copy:
            return None
        if taking_over:
            connection.execute("DELETE FROM sync_attempts")
            self._has_lost_to_copy = False
            epoch = self._since = max(epoch, self._spent) + 1
        elif epoch <= self._spent:
            epoch = self._spent + 1
        connection.execute(
            "UPDATE sync_lease SET owner = ?, epoch = ?, expires_at = ?", (self._owner, epoch, now + self._duration_ms)
        )
        return cluster_id, epoch, self._since

    def _has_stopped(self, owner: str, expires_at: int) -> bool:
        """Tell whether an owner has not renewed its lease for so long that it is gone, whatever the end that it wrote.

        The machine's clock may have been set back since. If the owner writes after all, its epoch is fenced off.
        """
        now = self._clock.monotonic()
        if self._seen != (owner, expires_at):
            self._seen, self._seen_at = (owner, expires_at), now
        return now - self._seen_at > _LEASES_WITHOUT_RENEWAL * self._duration_ms / 1000
