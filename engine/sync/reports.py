"""What sync tells in the log: store, Flow, run, key and column, never a value or a DSN (spec: Y-03, Y-15)."""

import logging
import threading
from collections.abc import Iterable

from dex.engine.flows.keys import split
from dex.engine.sync.batch import Batch
from dex.engine.sync.planning import Remark, Remarked

_log = logging.getLogger("dex.sync")


class Reports:
    """Writes the log of one store, and remembers what is told only once per process."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def left_out(self, batch: Batch, remarks: Iterable[Remark]) -> None:
        """Tell what a batch leaves out and why; an unknown field of an AttributeMap only once (spec: Y-11)."""
        where = f"store={batch.store!r} flow={batch.flow_id!r} run={batch.run_id!r}"
        for about, key, column, problem in remarks:
            if about is Remarked.BATCH:
                _log.error("sync leaves a batch out: %s: %s", where, problem)
            elif about is Remarked.FIELD:
                _log.error("sync leaves a field out: %s key=%r column=%r: %s", where, key, column, problem)
            elif self._first_time(split(key)[0], column):
                _log.warning("sync skips a field, told once: %s key=%r column=%r: %s", where, key, column, problem)

    def _first_time(self, attribute_map: str, column: str) -> bool:
        with self._lock:
            known = len(self._told)
            self._told.add((attribute_map, column))
            return len(self._told) > known

    def refresh_failed(self, store: str, problem: str) -> None:
        """Tell that the tables could not be read again, and that the schema stays as it was."""
        _log.error("sync keeps the schema it has: store=%r: %s", store, problem)
