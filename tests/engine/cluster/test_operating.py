"""How a cluster stands, and handing over: real nodes as processes."""

import signal
from collections.abc import Iterator

import httpx
import pytest

from dex.engine.cluster.servers import JournalServers
from dex.engine.local import LocalEngine
from dex.wcl.commands import Command, DefineStateStore, GetRow, PutRow
from dex.wcl.commands.cluster import ClusterStatus, DrainNode, ShowCluster, ShowNode
from dex.wcl.errors import FailedPrecondition, NotFound, Refused
from tests.clusterprocesses import NODES, ProcessCluster, process_cluster, wait_for


@pytest.fixture
def cluster(journal_servers: JournalServers) -> Iterator[ProcessCluster]:
    with process_cluster(journal_servers) as found:
        found.wait_until_owned("a")
        yield found


def _alive(status: ClusterStatus) -> dict[str, bool]:
    return {node.name: node.alive for node in status.nodes}


@pytest.mark.spec("K-09")
def test_any_node_tells_how_all_nodes_and_partitions_stand(cluster: ProcessCluster) -> None:
    """Positions are those of the journal: what was written last is committed and, by and by, applied everywhere."""
    with cluster["b"].engine() as engine:
        engine.execute(DefineStateStore(name="people"))
        put = engine.execute(PutRow(store="people", key=b"k"))
    for name in NODES:
        wait_for(lambda name=name: _all_caught_up(cluster[name].status(), put.seq), "copies", cluster[name].log)
        cluster.wait_until_owned(name)
        status = cluster[name].status()
        assert status.answered_by == name
        assert status.journal
        assert _alive(status) == dict.fromkeys(NODES, True)
        assert {node.name: node.url for node in status.nodes} == {each: cluster[each].url for each in NODES}
        assert [partition.number for partition in status.partitions] == [0, 1]
        assert all(partition.epoch > 0 and partition.owner in NODES for partition in status.partitions)


@pytest.mark.spec("K-09", "K-01")
def test_the_page_and_the_metrics_of_a_node_show_the_same(cluster: ProcessCluster) -> None:
    """The metrics are those of the node that is asked, the page shows all of them."""
    owners = cluster.wait_until_owned("a")
    metrics = [httpx.get(f"{cluster[name].url}/metrics").text for name in NODES]
    for number, owner in enumerate(owners):
        owned = [f'dex_partition_owned{{partition="{number}"}} 1.0' in text for text in metrics]
        assert owned == [name == owner for name in NODES]
    assert all('dex_partition_behind{partition="0"} 0.0' in text for text in metrics)
    page = httpx.get(cluster["b"].url).text
    assert all(f">{name}</th>" in page and cluster[name].url in page for name in NODES)
    assert "a 0, b 0, c 0" in page
    cluster["c"].kill()
    wait_for(lambda: "does not answer</span>" in httpx.get(cluster["b"].url).text, "the page to tell")


def _all_caught_up(status: ClusterStatus, seq: int) -> bool:
    copies = [copy for partition in status.partitions for copy in partition.copies]
    reached = any(partition.committed == seq for partition in status.partitions)
    return reached and len(copies) == 6 and all(copy.behind == 0 and copy.fault is None for copy in copies)


@pytest.mark.spec("K-09", "K-05")
def test_a_node_that_hangs_shows_as_such_and_its_partitions_have_another_owner(cluster: ProcessCluster) -> None:
    """Whoever asks waits for it no longer than a second, and its copies are not told."""
    owner = cluster.owner(0, "a")
    assert owner is not None
    asked = next(name for name in NODES if name != owner)
    before = cluster.partition(0, asked).epoch
    cluster[owner].send(signal.SIGSTOP)
    status = cluster[asked].status()
    assert _alive(status) == {name: name != owner for name in NODES}
    assert owner not in {copy.node for partition in status.partitions for copy in partition.copies}
    cluster.wait_until_owned(asked, but_by=owner)
    assert cluster.partition(0, asked).epoch > before
    cluster[owner].send(signal.SIGCONT)
    wait_for(lambda: _alive(cluster[asked].status())[owner], "the node to answer again")
    assert cluster.owner(0, owner) != owner


@pytest.mark.spec("K-09", "K-05")
def test_a_drained_node_owns_nothing_until_it_is_started_again(cluster: ProcessCluster) -> None:
    """Any node takes the command; the drained one still answers, and takes no partition even where nobody else does."""
    with cluster["b"].engine() as engine:
        handed = engine.execute(DrainNode(node="a")).partitions
        assert "a" not in cluster.wait_until_owned("b", but_by="a")
        assert engine.execute(DrainNode(node="a")).partitions == []
        status = engine.execute(ShowCluster())
    assert handed == sorted(handed)
    assert [node.name for node in status.nodes if node.draining] == ["a"]
    with cluster["a"].engine() as engine:
        engine.execute(DefineStateStore(name="people"))
        engine.execute(PutRow(store="people", key=b"k", payload=b"v"))
        row = engine.execute(GetRow(store="people", key=b"k", strict=True))
        assert row is not None
        assert row.payload == b"v"
    cluster["b"].kill()
    cluster["c"].kill()
    wait_for(lambda: cluster.owner(0, "a") is None and cluster.owner(1, "a") is None, "the leases to end")
    assert [partition.epoch for partition in cluster["a"].status().partitions] == [None, None]
    page = httpx.get(cluster["a"].url).text
    assert page.count('data-label="Epoch" class="number"></td>') == 2
    cluster["a"].stop()
    cluster["a"].start().wait_until_ready()
    assert cluster.wait_until_owned("a") == ["a", "a"]


@pytest.mark.spec("K-09", "K-05")
def test_the_last_node_that_can_own_partitions_refuses_to_be_drained(cluster: ProcessCluster) -> None:
    """It says why the others cannot, and goes on to own all."""
    with cluster["c"].engine() as engine:
        engine.execute(DrainNode(node="a"))
        cluster["b"].kill()
        with pytest.raises(FailedPrecondition, match=r"only node that can own.*a is draining, b does not answer"):
            engine.execute(DrainNode(node="c"))
        assert cluster.wait_until_owned("c", but_by="b") == ["c", "c"]
        assert not any(node.draining for node in engine.execute(ShowCluster()).nodes if node.name == "c")


@pytest.mark.spec("K-09")
def test_a_node_that_is_stopped_hands_over_and_is_forgotten_and_one_that_crashed_is_told_of(
    cluster: ProcessCluster,
) -> None:
    """Its leases and its name are free at once: another process may take the name."""
    assert cluster["a"].stop() == 0
    status = cluster["b"].status()
    assert "a" not in _alive(status)
    assert "a" not in cluster.wait_until_owned("b", but_by="a")
    cluster["c"].kill()
    assert _alive(cluster["b"].status()) == {"b": True, "c": False}
    assert cluster.wait_until_owned("b", but_by="c") == ["b", "b"]
    assert _alive(cluster["b"].status()) == {"b": True, "c": False}
    cluster["a"].start().wait_until_ready()
    assert _alive(cluster["b"].status()) == {"a": True, "b": True, "c": False}


@pytest.mark.spec("K-09")
def test_only_a_node_that_there_is_can_be_drained(cluster: ProcessCluster) -> None:
    """The message names those that there are."""
    with cluster["a"].engine() as engine, pytest.raises(NotFound, match="the nodes are a, b, c"):
        engine.execute(DrainNode(node="d"))


@pytest.mark.spec("K-09")
@pytest.mark.parametrize("command", [ShowCluster(), ShowNode(), DrainNode(node="a")])
def test_what_is_no_cluster_says_what_to_do(local: LocalEngine, command: Command[object]) -> None:
    """The embedded engine, which is also what a plain server stands before."""
    with pytest.raises(Refused, match="dex cluster dev"):
        local.execute(command)


@pytest.mark.spec("K-09")
def test_a_node_needs_a_name_to_be_drained() -> None:
    """An empty one is refused before any call."""
    with pytest.raises(ValueError, match="a node has a name"):
        DrainNode(node="")
