"""A journal server that the nodes reach, and that does not reach the others."""

import httpx
import pytest

from dex.engine.cluster.link import Link
from dex.engine.cluster.servers import SERVERS, JournalServer
from dex.wcl.commands import DefineStateStore, GetRow, PutRow
from dex.wcl.errors import Unavailable
from tests.clusterprocesses import NodeOptions, process_cluster, wait_for
from tests.clusters import new_cluster, running_servers
from tests.engine.cluster.conftest import eventually
from tests.netns import private_network, why_not


def is_connected_to(server: JournalServer, node: str) -> bool:
    answer = httpx.get(f"http://{server.place.address}:{server.monitor}/connz")
    return node in [each["name"] for each in answer.json()["connections"]]


def is_at(link: Link, server: JournalServer) -> bool:
    url = link.nc.connected_url
    return url is not None and (url.hostname, url.port) == (server.place.address, server.port)


@pytest.mark.spec("K-04", "K-05")
def test_a_node_whose_journal_server_is_cut_off_from_the_others_goes_on_by_another() -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with (
        private_network([*SERVERS, "a"]) as network,
        running_servers([network.place(name) for name in SERVERS]) as all_,
    ):
        options = NodeOptions(places={"a": network.place("a")})
        with process_cluster(all_, ("a",), options) as cluster, cluster["a"].engine(timeout=5) as engine:
            engine.execute(DefineStateStore(name="s"))
            mine = next(server.name for server in all_.servers if is_connected_to(server, "a"))
            network.cut([mine], SERVERS)

            def puts() -> bool:
                try:
                    engine.execute(PutRow(store="s", key=b"k", mutation_id="m"))
                except Unavailable:
                    return False
                return True

            wait_for(puts, "a write", cluster["a"].log)
            cluster.wait_until_owned("a")
            left = next(server for server in all_.servers if server.name == mine)
            wait_for(lambda: not is_connected_to(left, "a"), "leaving it", cluster["a"].log)


@pytest.mark.spec("K-04", "K-06")
def test_a_partition_is_read_on_while_only_the_server_of_the_node_s_other_connection_is_cut_off() -> None:
    """That is left after a lease, for as long as which reads would wait."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    settings = {"partitions": 1, "lease_seconds": 120.0}
    with (
        private_network(SERVERS) as network,
        running_servers([network.place(name) for name in SERVERS]) as all_,
        new_cluster(all_, ("a",), settings=settings) as cluster,
    ):
        node = cluster.nodes["a"]
        (part,) = node.partitions
        node.execute(DefineStateStore(name="s"))
        leader = node._link.call(node._link.js.stream_info(part.stream.name), 10).cluster.leader
        left = next(server for server in all_.servers if server.name != leader)
        other = next(server for server in all_.servers if server.name == leader)
        node._link.call(node._link.move(left.name), 20)
        eventually(lambda: is_at(part.writer._link, other))
        node.execute(PutRow(store="s", key=b"k"))
        network.cut([left.name], [server.name for server in all_.servers])
        for _ in range(2):  # for longer than a reader may be quiet
            with pytest.raises(TimeoutError):
                node._link.call(part.stream.look(), 20)
        try:
            assert node.execute(GetRow(store="s", key=b"k", strict=True, wait_ms=4000)) is not None
            assert is_at(part.writer._link, other)
        finally:
            network.heal()


@pytest.mark.spec("K-05")
def test_a_node_whose_leases_a_server_that_is_cut_off_refuses_is_not_told_that_another_has_its_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """That server still takes itself for the leader, and counts what it could not commit."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with (
        private_network(SERVERS) as network,
        running_servers([network.place(name) for name in SERVERS]) as all_,
        new_cluster(all_, ("a",), settings={"partitions": 1, "lease_seconds": 6.0}) as cluster,
    ):
        node = cluster.nodes["a"]
        leader = node._link.call(node._link.js.stream_info(f"{cluster.name}-leases"), 10).cluster.leader
        left = next(server for server in all_.servers if server.name == leader)
        node._link.call(node._link.move(left.name), 20)
        network.cut([left.name], [server.name for server in all_.servers])
        try:
            eventually(lambda: not node.ownership.membership.is_heard)
            eventually(lambda: node.ownership.membership.is_heard)
        finally:
            network.heal()
    assert "is in use by another process" not in caplog.text
