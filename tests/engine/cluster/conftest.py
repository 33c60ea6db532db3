"""Fixtures of the cluster's tests."""

import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

import pytest
from nats.js import JetStreamContext

from dex.engine.client import Client
from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.link import Link
from dex.engine.cluster.partition import Partition
from dex.engine.cluster.servers import JournalServers
from dex.engine.statestore import StateStore
from tests.clusters import Cluster, new_cluster
from tests.engine.state import digest_of

R = TypeVar("R")


@pytest.fixture
def cluster(journal_servers: JournalServers) -> Iterator[Cluster]:
    """A cluster without nodes, which keeps little of its journal behind a snapshot."""
    with new_cluster(journal_servers, [], settings={"kept_positions": 5, "lease_seconds": 2.0}) as cluster:
        yield cluster


def on_servers(servers: JournalServers, work: Callable[[JetStreamContext], Coroutine[Any, Any, R]]) -> R:
    """Do something on the journal servers, as whoever runs them could."""
    link = Link(servers.urls, "somebody")
    link.open()
    try:
        return link.call(work(link.js), 10)
    finally:
        link.close()


def store_on(node: ClusterEngine, name: str = "s") -> StateStore:
    """Give a store with a unique key, `u`, as one node has it."""
    return Client(node).state_stores.define(StateStore.named(name).add_key("u", unique=True))


def eventually(told: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not told():
        assert time.monotonic() < deadline, "this has not come about"
        time.sleep(0.01)


def check_equal(cluster: Cluster) -> None:
    """Settle all nodes, and see that they hold the same where they are at the same position."""
    nodes = list(cluster.nodes.values())
    for copies in zip(*(node.partitions for node in nodes), strict=True):
        found: list[tuple[int, str]] = []

        def at_one_position(copies: Sequence[Partition] = copies, found: list[tuple[int, str]] = found) -> bool:
            for part in copies:
                part.writer.wait_for(max(each.writer.applied for each in copies), 30)
                part.engine.settle()
            found[:] = [digest_of(part.engine.path) for part in copies]
            return len({position for position, _ in found}) == 1

        eventually(at_one_position)
        assert len(set(found)) == 1
