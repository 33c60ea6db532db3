"""Fixtures of the runtime's tests: a client that works Steps only when told, and a look at what is stored."""

from collections.abc import Callable
from typing import Any

import pytest

from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.wcl.commands.flows import PageHistory
from tests.engine.conftest import OpenEngine
from tests.engine.state import state_of


def still(engine: LocalEngine) -> Client:
    """Give a client whose Steps are worked by `work` only."""
    engine.flows.worker.start = lambda: None
    return Client(engine)


@pytest.fixture
def client(local: LocalEngine) -> Client:
    return still(local)


@pytest.fixture
def another(open_engine: OpenEngine) -> Callable[[], Client]:
    """Open the same directory again, as another process would."""
    return lambda: still(open_engine())


@pytest.fixture
def work(client: Client) -> Callable[[], None]:
    """Do what is due, in this process and now."""
    return lambda: client.engine.flows.worker.run(until_idle=True)


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
