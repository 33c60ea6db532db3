"""Commands that go from node to node over HTTP hold each other up no more than those of one node do."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.forwarding import Forwarding
from dex.engine.cluster.placing import partition_of
from dex.engine.cluster.servers import JournalServers
from dex.engine.flows.registry import Registry
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.engine.server.dispatch import HANDLER_THREADS
from tests.clusters import Cluster, new_cluster
from tests.engine.cluster.conftest import eventually
from tests.engine.flows.runtime.conftest import Served
from tests.engine.flows.runtime.desk import PATIENCE, Aside, Desk

PARTITIONS = 2
LONG = timedelta(minutes=10)


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def pair(journal_servers: JournalServers, registry: Registry) -> Iterator[Cluster]:
    """Two nodes that each own a partition."""
    with new_cluster(journal_servers, ("a", "b"), registry=lambda: registry) as cluster:
        while True:
            eventually(lambda: all(_owner(cluster, number) for number in range(PARTITIONS)))
            owners = {_owner(cluster, number) for number in range(PARTITIONS)}
            if owners == {"a", "b"}:
                break
            _give_back(cluster.nodes[owners.pop()])
        yield cluster


def _give_back(node: ClusterEngine) -> None:
    """Have a node that owns all partitions leave one to whoever is first, which is more often another one."""
    handing = node.ownership._hand_over(node.partitions[0], node.ownership.lease(0))
    node._link.call(handing, PATIENCE)


def _owner(cluster: Cluster, number: int) -> str:
    return next((name for name, node in cluster.nodes.items() if node.ownership.owns(number)), "")


def _flow_of(cluster: Cluster, node: str) -> str:
    """Give a Flow ID whose partition a node owns."""
    names = (f"d{number}" for number in count())
    return next(name for name in names if _owner(cluster, partition_of(name, PARTITIONS)) == node)


def _client(cluster: Cluster, node: str, registry: Registry) -> Served:
    return Served(RemoteEngine(parse_endpoints(cluster.urls[node])), registry)


@pytest.mark.spec("K-07", "FL-05")
def test_two_nodes_that_ask_each_other_with_all_threads_they_have_do_not_wait_for_each_other(
    pair: Cluster, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow, send, all_ask = Desk(), Forwarding.send, threading.Barrier(2 * HANDLER_THREADS)

    def send_with_all(*arguments: Any) -> Any:
        all_ask.wait(PATIENCE)
        return send(*arguments)

    with _client(pair, "a", registry) as a, _client(pair, "b", registry) as b:
        asked = []
        for client, other in ((a, "b"), (b, "a")):
            asked.append((client, _flow_of(pair, other)))
            client.start_flow(flow, asked[-1][1])
        monkeypatch.setattr(Forwarding, "send", send_with_all)
        calls = [
            Aside(client.invoke_rpc, flow.count, flow_id) for _ in range(HANDLER_THREADS) for client, flow_id in asked
        ]
        assert [call.result() for call in calls] == [0] * len(calls)


@pytest.mark.spec("K-05", "K-07", "FL-05")
def test_an_owner_that_hangs_holds_up_no_calls_of_other_partitions(
    pair: Cluster, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow, send, asked, goes_on = Desk(), Forwarding.send, threading.Semaphore(0), threading.Event()

    def hang(*arguments: Any) -> Any:
        asked.release()
        assert goes_on.wait(PATIENCE)
        return send(*arguments)

    with _client(pair, "a", registry) as client:
        own, others = _flow_of(pair, "a"), _flow_of(pair, "b")
        for flow_id in (own, others):
            client.start_flow(flow, flow_id)
        monkeypatch.setattr(Forwarding, "send", hang)
        calls = [Aside(client.invoke_rpc, flow.count, others) for _ in range(HANDLER_THREADS)]
        for _ in calls:
            assert asked.acquire(timeout=PATIENCE)
        assert Aside(client.invoke_rpc, flow.count, own).result() == 0
        goes_on.set()
        assert [call.result() for call in calls] == [0] * len(calls)


class Arrivals:
    """Counts the long polls that a node is forwarded."""

    def __init__(self, node: ClusterEngine) -> None:
        self._here, self._arrived = node.execute_here, threading.Semaphore(0)
        node.execute_here = self._execute  # type: ignore[method-assign]

    def _execute(self, command: Any) -> Any:
        if getattr(command, "wait_ms", 0):
            self._arrived.release()
        return self._here(command)

    def wait(self, count: int) -> None:
        """Wait until so many more have come."""
        for _ in range(count):
            assert self._arrived.acquire(timeout=PATIENCE)


@pytest.mark.spec("K-07", "FL-10")
def test_many_that_wait_for_a_flow_of_another_node_take_no_place_of_calls(pair: Cluster, registry: Registry) -> None:
    flow, flow_id = Desk(), _flow_of(pair, "b")
    arrivals = Arrivals(pair.nodes["b"])
    with _client(pair, "a", registry) as client:
        client.start_flow(flow, flow_id)
        waits = [Aside(client.wait_for_flow, flow_id, LONG) for _ in range(HANDLER_THREADS)]
        arrivals.wait(HANDLER_THREADS)
        assert client.invoke_rpc(flow.count, flow_id) == 0
        client.stop_flow(flow_id)
        assert {wait.result().status for wait in waits} == {"canceled"}


@pytest.mark.spec("K-07", "K-09", "FL-10")
def test_a_node_that_is_stopped_leaves_who_waits_for_its_flow_to_the_next_owner(
    pair: Cluster, registry: Registry
) -> None:
    """Also where it has waited for longer than a command else may take."""
    flow, flow_id = Desk(), _flow_of(pair, "b")
    arrivals, asked = Arrivals(pair.nodes["b"]), pair.nodes["a"]
    client = Served(asked, registry)
    client.start_flow(flow, flow_id)
    patience, asked._timeout = asked._timeout, 0.0
    wait = Aside(client.wait_for_flow, flow_id, LONG)
    arrivals.wait(1)
    asked._timeout = patience
    pair.leave("b")
    client.stop_flow(flow_id)
    assert wait.result().status == "canceled"
