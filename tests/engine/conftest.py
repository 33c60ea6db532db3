"""Fixtures of the engine tests: a data directory, a clock, an engine and a client of it.

Tests of behaviour ask for `engine` or `client` and use typed commands only, so that they hold for every engine.
Tests of what is inside the embedded engine ask for `local`, or for `open_engine` to open a directory again.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.protocol import Engine
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from tests.directories import fast_directory
from tests.engine.fakes import FakeClock
from tests.serving import serving


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


@pytest.fixture(params=["embedded", "http"])
def engine(request: pytest.FixtureRequest, local: LocalEngine) -> Iterator[Engine]:
    """The embedded engine, and the same one over a socket (spec: X-01)."""
    if request.param == "embedded":
        yield local
        return
    with serving(local) as url:
        remote = RemoteEngine(parse_endpoints(url))
        yield remote
        remote.close()


@pytest.fixture
def still(local: LocalEngine) -> LocalEngine:
    """An engine whose housekeeping runs only when asked for, so that a test sees the state before it."""
    local._housekeeping._stopping.set()
    return local


@pytest.fixture
def client(engine: Engine) -> Client:
    return Client(engine)
