"""A bucket is lost: of leases, whose epochs go on above those of the journals, or of settings, which come back."""

from collections.abc import Iterator

import pytest

from dex.engine.client import Client
from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.leases import Leases
from dex.engine.cluster.link import Link
from dex.engine.cluster.placing import partition_of
from dex.engine.cluster.servers import JournalServers
from dex.engine.cluster.shared import Shared
from dex.engine.flows.builtin import default_registry
from dex.engine.owner import OwnerChanged
from dex.samples.chunked_subscribers import FLOW_ID, ChunkedSubscribers
from dex.wcl.errors import FailedPrecondition
from tests.clusterprocesses import wait_for
from tests.clusters import Cluster, new_cluster, owner_of
from tests.engine.cluster.conftest import check_equal, eventually, store_on

_PARTITION = partition_of(FLOW_ID, 2)
_BURNT = 100


@pytest.fixture
def link(journal_servers: JournalServers) -> Iterator[Link]:
    link = Link(journal_servers.urls, "losing")
    link.open()
    yield link
    link.close()


@pytest.fixture
def cluster(journal_servers: JournalServers, link: Link) -> Iterator[Cluster]:
    """A cluster whose epochs are higher than a new bucket's would be."""
    with new_cluster(journal_servers, (), settings={"lease_seconds": 4.0}, registry=default_registry) as cluster:
        leases = Leases(link, cluster.name, 3, 2.0)
        link.insist(leases.make, 30)
        for _ in range(_BURNT):
            link.insist(lambda: leases.tell("burnt", None, 1), 30)
        yield cluster


def _lose(link: Link, cluster: Cluster, bucket: str = "leases") -> None:
    link.call(link.js.delete_stream(f"{cluster.name}-{bucket}"), 30)


def _epoch(nodes: list[ClusterEngine]) -> int:
    return owner_of(nodes, _PARTITION).ownership.epoch(_PARTITION)


@pytest.mark.spec("K-05")
def test_nodes_that_run_settle_anew_who_owns_what(cluster: Cluster, link: Link) -> None:
    """Whoever looks first makes the bucket anew; calls wait for that."""
    nodes = [cluster.join("a"), cluster.join("b")]
    before = _epoch(nodes)
    assert before > _BURNT
    ChunkedSubscribers(Client(nodes[0])).run.start()
    _lose(link, cluster)
    wait_for(lambda: _epoch(nodes) > before, "an owner of a later epoch")
    places = [ChunkedSubscribers(Client(node)).register(node.settings.node, "here").sequence for node in nodes]
    assert places == [1, 2]


@pytest.mark.spec("K-05")
def test_nodes_that_start_after_it_was_lost_own_what_they_did(cluster: Cluster, link: Link) -> None:
    """The take-over of an epoch that is not above the journal's would be refused by every node."""
    first = cluster.join("a")
    before = _epoch([first])
    ChunkedSubscribers(Client(first)).run.start()
    cluster.leave("a")
    _lose(link, cluster)
    again = cluster.join("a")
    assert _epoch([again]) > before
    assert ChunkedSubscribers(Client(again)).register("a", "here").sequence == 1


@pytest.mark.spec("K-05")
def test_an_owner_that_a_late_record_deposed_takes_over_again(cluster: Cluster) -> None:
    """Whoever has the lease does not go on as one whose records all are refused."""
    node = cluster.join("a")
    before = _epoch([node])
    ChunkedSubscribers(Client(node)).run.start()
    part = node.partitions[_PARTITION]
    part.writer.take_over(OwnerChanged(epoch=before + 1, node="late", url="http://late"), 20)
    assert ChunkedSubscribers(Client(node)).register("a", "here").sequence == 1
    assert _epoch([node]) > before + 1


@pytest.mark.spec("K-03")
def test_settings_that_were_lost_are_made_anew_by_a_node_that_has_files_and_by_no_other(
    cluster: Cluster, link: Link
) -> None:
    """The journal is whole; a node without files would make another cluster of it, and keep all others out."""
    store = store_on(cluster.join("a"))
    store.put("k", "v")
    cluster.leave("a")
    _lose(link, cluster, "settings")
    with pytest.raises(FailedPrecondition, match=r"have lost .*-settings, and the journal of cluster"):
        cluster.join("b")
    cluster.join("a")
    cluster.join("b")
    check_equal(cluster)


@pytest.mark.spec("K-03")
def test_settings_that_were_lost_are_made_anew_by_a_node_that_runs(cluster: Cluster, link: Link) -> None:
    nodes = [cluster.join("a"), cluster.join("b")]
    _lose(link, cluster, "settings")
    assert _found(link, cluster) in {node.secret.encode() for node in nodes}
    nodes.append(cluster.join("c"))
    eventually(lambda: len({node.secret for node in nodes}) == 1)
    check_equal(cluster)


def _found(link: Link, cluster: Cluster) -> bytes:
    """Give the secret once it is there."""
    shared = Shared(link, cluster.name, 3)
    eventually(lambda: link.insist(lambda: shared.find("secret"), 30))
    return link.insist(lambda: shared.find("secret"), 30) or b""


@pytest.mark.spec("K-03", "K-07")
def test_nodes_that_run_take_over_settings_that_another_node_has_made_anew(cluster: Cluster, link: Link) -> None:
    """By the secret there nodes know each other, and send on what is the other one's to do."""
    nodes = [cluster.join("a"), cluster.join("b")]
    link.insist(lambda: Shared(link, cluster.name, 3).write("secret", b"new"), 30)
    eventually(lambda: {node.secret for node in nodes} == {"new"})
    desks = [ChunkedSubscribers(Client(node)) for node in nodes]
    desks[0].run.start()
    places = [desk.register(f"{number}", "here").sequence for number, desk in enumerate(desks)]
    assert places == [1, 2]
