"""Who writes a partition's Attributes to the user's tables: its owner, by the partition's lease (spec: K-05, Y-16).

The token of the lease is the fencing token. It rises with every renewal, and that of a new owner is above all of the
old one's.
"""

import threading
import time

from dex.engine.cluster.leases import Lease
from dex.engine.sync.lease import Held, Rival


class PartitionLease:
    """The lease of one partition, as sync sees it; it stands where the embedded engine has that of its directory."""

    def __init__(self, lease: Lease, cluster_id: str, partition: int) -> None:
        self._lease = lease
        # A token rejects every lower one of its cluster id, and those of two partitions are not to be compared.
        self._cluster_id = f"{cluster_id}/{partition}"
        self._lock = threading.Lock()
        self._spent = 0

    @property
    def seconds(self) -> float:
        """How long the lease lasts without renewal."""
        return self._lease.seconds

    @property
    def held(self) -> Held | None:
        """The lease, while this node owns the partition and its token is not spent."""
        token = self._lease.token
        if not self._lease.is_held or token <= self._spent:
            return None
        return Held(self._cluster_id, token, self._lease.epoch, self._lease.until)

    def keep(self) -> Held | None:
        """Give what is held: the lease is kept elsewhere."""
        return self.held

    def remaining(self) -> float:
        """Give how many seconds the lease lasts, judged by this process's own clock."""
        return 0.0 if self.held is None else self._lease.until - time.monotonic()

    def lose(self, token: int, *, has_written: bool) -> Rival:
        """Write no more under the token that this node has; tell whose the rejecting one is."""
        with self._lock:
            if token <= self._spent:
                return Rival.NONE
            self._spent = max(self._spent, token)
        if not self._lease.is_held:
            return Rival.OWNER
        return Rival.COPY if has_written else Rival.PAST

    def spend(self, epoch: int) -> None:
        """Write no more with a token: the next renewal gives a higher one (spec: Y-26)."""
        with self._lock:
            self._spent = max(self._spent, epoch)

    def release(self) -> None:
        """Do nothing: the lease is given up elsewhere."""
