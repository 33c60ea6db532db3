"""Fixtures of the runtime's tests: a client that works Steps only when told, and a look at what is stored."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any

import pytest

from dex.engine.client import Client
from dex.engine.clock import Clock
from dex.engine.cluster.servers import JournalServers
from dex.engine.flows.registry import Registry
from dex.engine.flows.runtime.worker import Worker
from dex.engine.local import LocalEngine
from dex.engine.protocol import Engine
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.wcl.commands.flows import PageHistory
from tests import clusters
from tests.clusters import Rotating, new_cluster
from tests.engine.conftest import ENGINES
from tests.engine.fakes import FakeClock
from tests.engine.state import state_of
from tests.serving import serving


def still(engine: LocalEngine) -> Client:
    """Give a client whose Steps are worked by `work` only."""
    engine.flows.worker.start = lambda: None
    return Client(engine)


class Served(Client):
    """A client of an engine elsewhere, whose registry knows every Flow that this client does."""

    def __init__(self, engine: Engine, registry: Registry) -> None:
        super().__init__(engine)
        self.registry = registry

    def _known(self, flow: Any) -> Any:
        self.registry.register(flow)
        return super()._known(flow)


@contextmanager
def flow_cluster(servers: JournalServers, clock: Clock, **settings: Any) -> Iterator[Served]:
    """Give a client of a cluster's three nodes, which it asks over HTTP."""
    registry = Registry()
    options = {"settings": settings, "clock": clock, "attribute_stores": ["orders"], "registry": lambda: registry}
    with new_cluster(servers, **options) as cluster, ExitStack() as stack:
        doors = [stack.enter_context(closing(RemoteEngine(parse_endpoints(url)))) for url in cluster.urls.values()]
        yield Served(Rotating(list(cluster.nodes.values()), doors), registry)


INSIDE = pytest.mark.parametrize("client", ["embedded"], indirect=True)
"""Marks a test that looks into the embedded engine, or at values that a server tells as JSON."""

ONE_FILE = pytest.mark.parametrize("client", [name for name in ENGINES if name != "cluster"], indirect=True)
"""Marks a test of what holds on one file alone: positions without gaps, and processes that open it by themselves."""


@pytest.fixture(params=ENGINES)
def client(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Client]:
    """A client of the embedded engine, one of the same over a socket, and one of a cluster (spec: X-01, K-07)."""
    if request.param == "cluster":
        request.getfixturevalue("monkeypatch").setattr(Worker, "start", lambda _: None)
        with flow_cluster(request.getfixturevalue("journal_servers"), clock) as served:
            yield served
        return
    local = request.getfixturevalue("local")
    embedded = still(local)
    if request.param == "embedded":
        yield embedded
        return
    with serving(local) as url, Served(RemoteEngine(parse_endpoints(url)), local.flows.parts.registry) as served:
        yield served


@pytest.fixture
def another(request: pytest.FixtureRequest, client: Client) -> Callable[[], Client]:
    """Open the same directory again, as another process would; or give another client of the same cluster."""
    if isinstance(client, Served) and isinstance(client.engine, Rotating):
        return partial(Served, client.engine, client.registry)
    open_engine = request.getfixturevalue("open_engine")
    return lambda: still(open_engine())


@pytest.fixture
def work(request: pytest.FixtureRequest, client: Client) -> Callable[[], None]:
    """Do what is due, in this process and now."""
    if isinstance(client.engine, Rotating):
        return partial(clusters.work, client.engine.nodes)
    worker = request.getfixturevalue("local").flows.worker
    return lambda: worker.run(until_idle=True)


@pytest.fixture
def kinds(client: Client) -> Callable[..., list[str]]:
    """Give the kinds of a run's events."""
    return lambda flow_id, run_id=None: [event.kind for event in history(client, flow_id, run_id)]


def history(client: Client, flow_id: str, run_id: str | None = None) -> list[Any]:
    return client.execute(PageHistory(flow_id=flow_id, run_id=run_id, limit=1000)).events


@pytest.fixture
def stored(request: pytest.FixtureRequest, client: Client) -> Callable[[], Any]:
    """Give all that the file holds, or the files of a node, the journal included."""
    if isinstance(client.engine, Rotating):
        return partial(clusters.state_of_all, client.engine.nodes)
    return partial(state_of, request.getfixturevalue("local").path)


@pytest.fixture
def settle(request: pytest.FixtureRequest, client: Client) -> Callable[[], None]:
    """Do all housekeeping now."""
    engine = client.engine if isinstance(client.engine, Rotating) else request.getfixturevalue("local")
    return engine.settle
