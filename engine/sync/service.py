"""Sync in one process: every destination of a configuration, opened together, and the worker over them (spec: Y-06)."""

import threading

from dex.engine.flows.runtime.parts import Parts
from dex.engine.sync import backlog
from dex.engine.sync.checking import StoreSchema
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.destination import Destination
from dex.engine.sync.lease import SyncLease
from dex.engine.sync.metrics import SyncMetrics
from dex.engine.sync.worker import SyncWorker
from dex.wcl.errors import DexError, Unavailable


def check_stores(config: SyncConfig) -> dict[str, StoreSchema | DexError]:
    """Connect to every store and check its tables and grants, after a bad one too; give what was found or is wrong.

    No connection stays open.
    """
    found: dict[str, StoreSchema | DexError] = {}
    for name, store in config.stores.items():
        destination = Destination(store, config)
        try:
            found[name] = destination.open()
            destination.check_grants()
        except DexError as error:
            found[name] = error
        finally:
            destination.close()
    return found


class Sync:
    """The Attribute Stores of a configuration over the Flows of a data directory. Close it when done.

    What it counts goes to `metrics`, by default its own.
    """

    def __init__(
        self, parts: Parts, config: SyncConfig, lease: SyncLease | None = None, metrics: SyncMetrics | None = None
    ) -> None:
        self._parts = parts
        self._config = config
        self._destinations = {name: Destination(store, config) for name, store in config.stores.items()}
        self.metrics = metrics or SyncMetrics()
        self._worker = SyncWorker(parts, config, self._destinations, self.metrics, lease)

    @property
    def stores(self) -> list[str]:
        """The names of the stores."""
        return list(self._destinations)

    @property
    def is_owner(self) -> bool:
        """Whether this process holds the lease, so that it writes."""
        return self._worker.is_owner

    def open(self) -> dict[str, StoreSchema]:
        """Connect to every store and check its tables; give what was found of each.

        Raises:
            Unavailable, FailedPrecondition: one failed; the connections to the others are closed.
        """
        try:
            return {name: destination.open() for name, destination in self._destinations.items()}
        except BaseException:
            self.close()
            raise

    def run(self, stop: threading.Event) -> None:
        """Write what is marked until `stop` is set.

        Raises:
            FailedPrecondition: the data directory has another cluster id than the configured one.
        """
        self._worker.run(stop)

    def flush(self, seconds: float) -> None:
        """Write until nothing is pending, or wait until the process that owns the lease has.

        Raises:
            Unavailable: something is still pending after `seconds`.
        """
        stop = threading.Event()
        timer = threading.Timer(seconds, stop.set)
        timer.daemon = True
        timer.start()
        try:
            self._worker.run(stop, until_empty=True)
        finally:
            timer.cancel()
        with self._parts.readers.snapshot() as snapshot:
            pending = backlog.totals(snapshot.connection).entries
        if pending:
            raise Unavailable(
                f"{pending} entries are still pending after {seconds:g} s",
                "see `dex sync backlog` for why, and flush again",
                pending=pending,
            )

    def close(self) -> None:
        """Close the connections of every store."""
        for destination in self._destinations.values():
            destination.close()
