"""The metrics of a server in Prometheus' text format (spec: K-01)."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from dex.engine.server.dispatch import Dispatcher
from dex.engine.sync.metrics import as_seen_from_outside
from dex.wcl.commands.cluster import NodeReport, ShowNode
from dex.wcl.commands.sync import ShowSyncTotals

if TYPE_CHECKING:
    from dex.engine.server.syncing import Syncing

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
_METHODS = frozenset({"GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH"})
NO_ROUTE = "(none)"
"""What stands for every path that there is no route for, so that nobody can make up label values."""


class Metrics:
    """Counts requests and measures the engine when asked. `connections` gives how many are open.

    It has a registry of its own, so that two servers in one process do not mix.
    """

    def __init__(
        self, dispatcher: Dispatcher, connections: Callable[[], int], syncing: "Syncing | None" = None
    ) -> None:
        self._dispatcher = dispatcher
        self._syncing = syncing
        self._connections = connections
        self._registry = registry = CollectorRegistry()
        self._requests = Histogram(
            "dex_http_request_seconds",
            "Requests by route, method and status, and how long they took",
            ["route", "method", "status"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._by_labels: dict[tuple[str, str, str], Histogram] = {}
        self._commits = Counter("dex_commits", "Commits to the database", registry=registry)
        self._conflicts = Counter("dex_lock_conflicts", "Calls refused because of a lock", registry=registry)
        self._database = Gauge("dex_database_bytes", "Size of the database and its log", registry=registry)
        self._journal = Gauge("dex_journal_bytes", "Size of the records in the journal", registry=registry)
        self._open = Gauge("dex_http_connections", "Open connections", registry=registry)
        self._partitions = _Partitions(registry) if dispatcher.engine.secret else None

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that has ended."""
        key = route, method if method in _METHODS else "other", str(status)
        observed = self._by_labels.get(key)
        if observed is None:
            observed = self._by_labels[key] = self._requests.labels(*key)
        observed.observe(seconds)

    async def render(self) -> str:
        """Give all of them, those of sync included."""
        vitals = await asyncio.to_thread(self._dispatcher.engine.vitals)
        _set(self._commits, vitals.commits)
        _set(self._conflicts, self._dispatcher.lock_conflicts)
        self._database.set(vitals.database_bytes)
        self._journal.set(vitals.journal_bytes)
        self._open.set(self._connections())
        if self._partitions is not None:
            self._partitions.set(await self._dispatcher.execute(ShowNode()))
        lines = generate_latest(self._registry).decode().splitlines(keepends=True)
        return "".join(line for line in lines if "_created" not in line) + await self._sync()

    async def _sync(self) -> str:
        if self._syncing is not None:
            return self._syncing.metrics()
        totals = await self._dispatcher.execute(ShowSyncTotals())
        node = self._dispatcher.engine.sync
        return as_seen_from_outside(totals) if node is None else node.metrics(totals)


class _Partitions:
    """What a node of a cluster has of each partition (spec: K-09)."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"dex_partition_{name}", text, ["partition"], registry=registry)

        self._owned = gauge("owned", "Whether this node owns the partition")
        self._epoch = gauge("epoch", "The epoch in which it owns it, 0 where it does not")
        self._applied = gauge("applied", "The last position that this node has applied")
        self._behind = gauge("behind", "Committed positions that it has not applied")
        self._faults = gauge("faults", "Whether its copy is not kept current any more")

    def set(self, report: NodeReport) -> None:
        for copy in report.copies:
            number = str(copy.partition)
            self._owned.labels(number).set(copy.epoch > 0)
            self._epoch.labels(number).set(copy.epoch)
            self._applied.labels(number).set(copy.applied)
            self._behind.labels(number).set(copy.committed - copy.applied)
            self._faults.labels(number).set(copy.fault is not None)


def _set(counter: Counter, total: int) -> None:
    """Let a counter tell what is counted elsewhere."""
    counter.reset()
    counter.inc(total)
