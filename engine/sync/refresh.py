"""The tables of a store as they were last read, and when they are read again (spec: Y-23)."""

import threading
from collections.abc import Callable
from collections.abc import Set as AbstractSet

from dex.engine.sync.checking import StoreSchema
from dex.engine.sync.planning import MissingColumn

JITTER = 0.1


class Schemas:
    """One store's schema: an immutable snapshot, replaced as a whole by each successful reading.

    `read` reads and checks the tables; `monotonic` gives seconds and `uniform` a number between two others.
    """

    def __init__(
        self,
        read: Callable[[], StoreSchema],
        interval: float,
        monotonic: Callable[[], float],
        uniform: Callable[[float, float], float],
    ) -> None:
        self._read = read
        self._interval = interval
        self._monotonic = monotonic
        self._uniform = uniform
        self._reading = threading.Lock()
        self._gate = threading.Lock()
        self._found_missing: set[MissingColumn] = set()
        self._snapshot: StoreSchema | None = None
        self._due = 0.0

    def current(self) -> StoreSchema:
        """Give the snapshot, once a reading that a batch asked for is over; the first call reads.

        Raises:
            what `read` raises, at the first call.
        """
        with self._gate:
            if self._snapshot is None:
                self.refresh()
            return self._known()

    def refresh(self) -> None:
        """Read the tables now. If that fails the snapshot stays, until the next interval.

        Raises:
            what `read` raises.
        """
        with self._reading:
            self._renew()

    def refresh_if_due(self) -> None:
        """Read the tables when the interval is over, unless another thread is about it.

        Raises:
            what `read` raises.
        """
        if self._monotonic() < self._due or not self._reading.acquire(blocking=False):
            return
        try:
            if self._monotonic() >= self._due:
                self._renew()
        finally:
            self._reading.release()

    def _renew(self) -> None:
        self._due = self._monotonic() + self._interval * self._uniform(1 - JITTER, 1 + JITTER)
        self._snapshot = self._read()
        self._found_missing = {each for each in self._found_missing if self._is_missing(each)}

    def wants_refresh(self, missing: AbstractSet[MissingColumn]) -> bool:
        """Tell whether any of the columns has not been found missing by a reading yet."""
        return not missing <= self._found_missing

    def refresh_for(self, missing: AbstractSet[MissingColumn], seen: StoreSchema) -> StoreSchema:
        """Read the tables at once for columns that the snapshot `seen` lacks; other batches wait meanwhile.

        A column is asked for once: a field of an AttributeMap never again, another until a reading has found it.

        Raises:
            what `read` raises.
        """
        with self._gate, self._reading:
            if self._snapshot is seen:
                self._renew()
            self._found_missing |= {each for each in missing if self._is_missing(each)}
            return self._known()

    def _known(self) -> StoreSchema:
        if self._snapshot is None:
            raise AssertionError("a successful reading leaves a snapshot")
        return self._snapshot

    def _is_missing(self, missing: MissingColumn) -> bool:
        snapshot = self._snapshot
        if snapshot is None or missing.attribute_map is not None:
            return True
        return missing.column not in snapshot.main.columns
