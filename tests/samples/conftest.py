"""A client of an embedded engine, and the two patterns on it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dex
from dex import Client
from dex.samples.chunked_subscribers import ChunkedSubscribers
from dex.samples.customer_directory import CustomerDirectory
from tests.directories import fast_directory


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with fast_directory() as path:
        yield path / "data"


@pytest.fixture
def connect(data_dir: Path) -> Iterator[Callable[[], Client]]:
    """Connect to the data directory once more, as another process would."""
    clients: list[Client] = []

    def connect_() -> Client:
        clients.append(dex.connect(data_dir))
        return clients[-1]

    yield connect_
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Callable[[], Client]) -> Client:
    return connect()


@pytest.fixture
def directory(client: Client) -> CustomerDirectory:
    started = CustomerDirectory(client)
    started.run.start()
    return started


@pytest.fixture
def subscribers(client: Client) -> ChunkedSubscribers:
    started = ChunkedSubscribers(client)
    started.run.start()
    return started
