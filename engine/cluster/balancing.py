"""When a node hands a partition over to one that owns fewer, so that all nodes work (spec: K-05, K-09)."""

import time
from collections import Counter
from collections.abc import Collection, Sequence

_LEAST_DIFFERENCE = 2


class Balance:
    """Decides for one node, once nothing has changed for some seconds: each change makes Flows wait for a moment."""

    def __init__(self, node: str, seconds: float) -> None:
        self._node = node
        self._seconds = seconds
        self._patience = seconds
        self._ceded: int | None = None
        self._seen: object = None
        self._since = 0.0

    def surplus(self, owners: Sequence[str | None], takers: Collection[str]) -> int | None:
        """Give the partition to hand over now, None where none is. `takers` are the nodes that take partitions.

        Of several nodes that own as many one does it, by its name. Where nobody took what was handed over, the next
        try waits for longer.
        """
        now, seen = time.monotonic(), (tuple(owners), frozenset(takers))
        if seen != self._seen:
            self._seen, self._since = seen, now
        if None in owners:
            return None
        if self._ceded is not None:
            came_back = owners[self._ceded] == self._node
            self._patience = self._patience * 2 if came_back else self._seconds
            self._ceded = None
        if now - self._since < self._patience or not self._owns_most(Counter(owners), takers):
            return None
        self._ceded = max(number for number, owner in enumerate(owners) if owner == self._node)
        return self._ceded

    def _owns_most(self, owned: Counter[str | None], takers: Collection[str]) -> bool:
        others = [(owned[node], node) for node in takers if node != self._node]
        mine = owned[self._node], self._node
        return bool(others) and mine > max(others) and mine[0] - min(others)[0] >= _LEAST_DIFFERENCE
