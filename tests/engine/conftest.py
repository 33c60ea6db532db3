"""Fixtures of the engine tests: a data directory, a clock, an engine and a client of it.

Tests of behaviour ask for `engine` or `client` and use typed commands only, so that they hold for every engine.
Tests of what is inside the embedded engine ask for `local`, or for `open_engine` to open a directory again.

DEX_TEST_ENGINES names the engines, of "embedded,http,cluster"; the cluster is left out unless asked for, because
each of its tests makes streams on real journal servers.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.protocol import Engine
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from tests.clusters import Rotating, journal_servers, new_cluster
from tests.directories import fast_directory
from tests.engine.fakes import FakeClock
from tests.serving import serving

__all__ = ["journal_servers"]

ENGINES = os.environ.get("DEX_TEST_ENGINES", "embedded,http").split(",")

ONE_FILE = pytest.mark.parametrize("engine", [name for name in ENGINES if name != "cluster"], indirect=True)
"""Marks a test of what holds on one file alone: positions without gaps, and nothing to wait for."""


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with fast_directory() as path:
        yield path / "data"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


OpenEngine = Callable[..., LocalEngine]


@pytest.fixture
def open_engine(data_dir: Path, clock: FakeClock) -> Iterator[OpenEngine]:
    """Open the data directory as often as wanted; all engines are closed at the end."""
    opened: list[LocalEngine] = []

    def open_(directory: Path = data_dir, **options: Any) -> LocalEngine:
        opened.append(LocalEngine(directory, **{"clock": clock, "attribute_stores": ["orders"], **options}))
        return opened[-1]

    yield open_
    for engine in opened:
        engine.close()


@pytest.fixture
def local(open_engine: OpenEngine) -> LocalEngine:
    return open_engine()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Engine]:
    """The embedded engine, the same one over a socket, and a cluster of three nodes (spec: X-01, K-03)."""
    if request.param == "cluster":
        servers = request.getfixturevalue("journal_servers")
        with new_cluster(servers, clock=clock, attribute_stores=["orders"]) as cluster:
            yield Rotating(list(cluster.nodes.values()))
        return
    local = request.getfixturevalue("local")
    if request.param == "embedded":
        yield local
        return
    with serving(local) as url:
        remote = RemoteEngine(parse_endpoints(url))
        yield remote
        remote.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, on the cluster, the tests that look into the embedded engine."""
    inside = [item for item in items if _is_on_cluster(item) and "data_dir" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=inside)
    items[:] = [item for item in items if item not in inside]


def _is_on_cluster(item: pytest.Item) -> bool:
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return "cluster" in (params.get("engine"), params.get("client"))


@pytest.fixture
def still(local: LocalEngine) -> LocalEngine:
    """An engine whose housekeeping runs only when asked for, so that a test sees the state before it."""
    local._housekeeping._stopping.set()
    return local


@pytest.fixture
def client(engine: Engine) -> Client:
    return Client(engine)
