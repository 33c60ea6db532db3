"""Fixtures of the scheduler's tests: Flows, and a scheduler whose every turn a test takes by hand, on its own clock."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dex.engine.client import Client
from dex.engine.cluster.synclease import PartitionLease
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.runtime.worker import Worker
from dex.engine.flows.state import runs
from dex.engine.sync.config import StoreConfig, SyncConfig, SyncRetryPolicy
from dex.engine.sync.dsn import Dsn
from dex.engine.sync.metrics import SyncMetrics
from dex.engine.sync.tablename import TableName
from dex.engine.sync.worker import SyncWorker
from dex.wcl.commands.sync import SyncBacklog, SyncDrops
from tests.clusters import Rotating, owner_of
from tests.engine.conftest import ENGINES, OpenEngine
from tests.engine.fakes import FakeClock
from tests.engine.flows.runtime.conftest import flow_cluster
from tests.engine.sync.worker.flow import Order, synced_to
from tests.engine.sync.worker.scripted import Scripted

FLOW = Order()

EVERYWHERE = pytest.mark.parametrize("client", [name for name in ENGINES if name != "http"], indirect=True)
"""Marks tests of what is so wherever Attributes are synced: a scheduler never works over HTTP."""


class SteadyClock(FakeClock):
    """Both times move by hand only; `set_back` moves the machine's time alone."""

    behind_ms = 0

    def now_ms(self) -> int:
        return self.ms - self.behind_ms

    def monotonic(self) -> float:
        return self.ms / 1000

    def set_back(self, ms: int) -> None:
        self.behind_ms += ms


class Now:
    """An executor that does at once what it is given."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        function(*arguments)


class Schedule:
    """A scheduler of the store `orders` over Flows."""

    def __init__(self, client: Client, clock: FakeClock, **config: Any) -> None:
        self.client = client
        self.clock = clock
        self.config = sync_config(**config)
        self.destination = Scripted()
        self.metrics = SyncMetrics()
        self._parts, lease = _surroundings(client)
        self.worker = SyncWorker(self._parts, self.config, {"orders": self.destination}, self.metrics, lease)
        (self.writer,) = self.worker._writers
        self.lease = self.worker._lease
        self.stop = threading.Event()

    def turn(self) -> list[Any]:
        """Keep the lease, write what is due once, and give the calls this made."""
        self.lease.keep()
        for _ in range(2):  # the first may only meet the end of the backlog
            self.writer._submit_due(Now(), self.stop)
            done = threading.Event()
            done.set()
            self.writer._acknowledger._acknowledge(done)
            if self.destination.calls:
                break
        return self.destination.take()

    def turn_of(self, *flow_ids: str) -> None:
        """Take a turn, and see which Flows it writes."""
        assert [call.flow_id for call in self.turn()] == list(flow_ids)

    def run_of(self, flow_id: str) -> int:
        """Give the number of a Flow's latest run."""
        with self._parts.readers.snapshot() as snapshot:
            run = runs.latest(snapshot.connection, flow_id)
        assert run is not None
        return run.id

    def pending(self) -> dict[tuple[str, str], Any]:
        """Give the backlog by Flow ID and key."""
        return {(each.flow_id, each.key): each for each in self.client.execute(SyncBacklog(limit=1000)).entries}

    def drops(self) -> list[tuple[str, str, str]]:
        """Give what was dropped, as Flow ID, key and reason, and see that it was counted."""
        drops = [(each.flow_id, each.key, each.reason) for each in self.client.execute(SyncDrops(limit=10_000))]
        assert self.metrics.dropped_entries._value.get() == len(drops)
        return sorted(drops)

    def start(self, flow_id: str, attributes: dict[str, Any] | None = None, **options: Any) -> None:
        """Start a Flow that is synced, and write attributes."""
        self.client.start_flow(FLOW, flow_id, options=synced_to("orders", **options))
        if attributes:
            self.client.set_attributes(flow_id, attributes)


def _surroundings(client: Client) -> tuple[Parts, PartitionLease | None]:
    """Give what a scheduler works with, as it is where an engine's Attributes are synced."""
    if not isinstance(client.engine, Rotating):
        return client.engine.flows.parts, None
    owner = owner_of(client.engine.nodes, 0)
    lease = PartitionLease(owner.ownership.lease(0), owner.settings.name, 0)
    return owner.partitions[0].engine.flows.parts, lease


def sync_config(*, stores: tuple[str, ...] = ("orders",), retry: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Give a configuration of stores that nothing connects to."""
    configured = {name: StoreConfig(name=name, dsn=Dsn("host=none"), table=TableName(None, name)) for name in stores}
    return SyncConfig(stores=configured, retry=SyncRetryPolicy(**(retry or {})), **fields)


@pytest.fixture
def clock() -> SteadyClock:
    return SteadyClock()


@pytest.fixture
def client(request: pytest.FixtureRequest, clock: SteadyClock) -> Iterator[Client]:
    """A client of the embedded engine, and where a test says so of a cluster, of a single partition."""
    request.getfixturevalue("monkeypatch").setattr(Worker, "start", lambda _: None)
    if getattr(request, "param", "embedded") == "cluster":
        with flow_cluster(request.getfixturevalue("journal_servers"), clock, partitions=1) as client:
            yield _with_flows(client)
        return
    local = request.getfixturevalue("local")
    local._housekeeping._stopping.set()
    yield _with_flows(Client(local))


def _with_flows(client: Client) -> Client:
    for flow in (FLOW, Order(ends=True)):
        client.register(flow)
    return client


@pytest.fixture
def schedule(client: Client, clock: SteadyClock) -> Callable[..., Schedule]:
    logging.getLogger("dex.sync").setLevel(logging.WARNING)
    return lambda **config: Schedule(client, clock, **config)


@pytest.fixture
def another(open_engine: OpenEngine, clock: SteadyClock) -> Callable[..., Schedule]:
    """Give a scheduler on the same directory, as another process would have one."""

    def open_(**config: Any) -> Schedule:
        engine = open_engine()
        engine.flows.worker.start = lambda: None
        client = Client(engine)
        client.register(FLOW)
        return Schedule(client, clock, **config)

    return open_
