"""Two of three journal servers lost: what ends, what goes on, and that all goes on by itself once they are back."""

import pytest

from dex.wcl.commands import DefineStateStore, GetRow, PutRow
from dex.wcl.commands.cluster import DrainNode
from dex.wcl.errors import Conflict, Unavailable
from tests.clusterprocesses import process_cluster, wait_for
from tests.clusters import running_servers


@pytest.mark.spec("K-04", "K-06", "K-09")
def test_without_a_quorum_writes_end_plain_reads_go_on_and_nothing_acknowledged_is_lost() -> None:
    """A node that may have missed something does not say that it is current: it refuses the strict read."""
    with (
        running_servers() as servers,
        process_cluster(servers, ("a", "b")) as cluster,
        cluster["a"].engine(timeout=3) as engine,
    ):
        engine.execute(DefineStateStore(name="people"))
        engine.execute(PutRow(store="people", key=b"k", payload=b"v"))
        wait_for(lambda: len(cluster["b"].status().nodes) == 2, "the nodes to know each other")
        lost = servers.servers[:2]
        for server in lost:
            server.kill()
        for _ in range(2):
            with pytest.raises(Unavailable):
                engine.execute(PutRow(store="people", key=b"k", payload=b"late", mutation_id="once"))
        with pytest.raises(Conflict, match="has not caught up"):
            engine.execute(GetRow(store="people", key=b"k", strict=True, wait_ms=500))
        row = engine.execute(GetRow(store="people", key=b"k"))
        assert row is not None
        assert row.payload == b"v"
        wait_for(lambda: not cluster["b"].status().journal, "the status to tell")
        with pytest.raises(Unavailable, match="journal servers do not answer"):
            engine.execute(DrainNode(node="a"))
        status = cluster["b"].status()
        assert not any(node.draining for node in status.nodes)
        assert [(node.name, node.alive) for node in status.nodes] == [("a", True), ("b", True)]
        for server in lost:
            server.start()
        wait_for(
            lambda: engine.execute(PutRow(store="people", key=b"k", payload=b"late", mutation_id="once")), "writes"
        )
        cluster.wait_until_owned("a")
        for node in cluster.nodes.values():
            with node.engine() as there:
                row = there.execute(GetRow(store="people", key=b"k", strict=True))
            assert row is not None
            assert row.payload == b"late"
        wait_for(lambda: all(node.status().journal for node in cluster.nodes.values()), "the status to tell")
