"""Fixtures of the runtime's tests: a client that works Steps only when told, and a look at what is stored."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.wcl.commands.flows import PageHistory
from tests.engine.conftest import OpenEngine
from tests.engine.state import state_of
from tests.serving import serving


def still(engine: LocalEngine) -> Client:
    """Give a client whose Steps are worked by `work` only."""
    engine.flows.worker.start = lambda: None
    return Client(engine)


class Served(Client):
    """A client of a server that knows every Flow that this client does."""

    def __init__(self, url: str, server: LocalEngine) -> None:
        super().__init__(RemoteEngine(parse_endpoints(url)))
        self._registry = server.flows.parts.registry

    def _known(self, flow: Any) -> Any:
        self._registry.register(flow)
        return super()._known(flow)


INSIDE = pytest.mark.parametrize("client", ["embedded"], indirect=True)
"""Marks a test that looks into the embedded engine, or at values that a server tells as JSON."""


@pytest.fixture(params=["embedded", "http"])
def client(request: pytest.FixtureRequest, local: LocalEngine) -> Iterator[Client]:
    """A client of the embedded engine, and one of the same engine over a socket (spec: X-01)."""
    embedded = still(local)
    if request.param == "embedded":
        yield embedded
        return
    with serving(local) as url, Served(url, local) as served:
        yield served


@pytest.fixture
def another(open_engine: OpenEngine) -> Callable[[], Client]:
    """Open the same directory again, as another process would."""
    return lambda: still(open_engine())


@pytest.fixture
def work(local: LocalEngine) -> Callable[[], None]:
    """Do what is due, in this process and now."""
    return lambda: local.flows.worker.run(until_idle=True)


@pytest.fixture
def kinds(client: Client) -> Callable[..., list[str]]:
    """Give the kinds of a run's events."""
    return lambda flow_id, run_id=None: [event.kind for event in history(client, flow_id, run_id)]


def history(client: Client, flow_id: str, run_id: str | None = None) -> list[Any]:
    return client.execute(PageHistory(flow_id=flow_id, run_id=run_id, limit=1000)).events


@pytest.fixture
def stored(local: LocalEngine) -> Callable[[], Any]:
    """Give all that the file holds, the journal included."""
    return lambda: state_of(local.path)
