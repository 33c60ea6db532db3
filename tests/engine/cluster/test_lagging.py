"""A node that cannot apply what comes, such as one with a slow disk, takes no partition meanwhile (spec: K-05)."""

import sqlite3
from contextlib import closing

import pytest

from dex.wcl.commands import PutRow
from tests.clusterprocesses import wait_for
from tests.clusters import Cluster
from tests.engine.cluster.conftest import eventually, store_on
from tests.engine.cluster.test_snapshots import HERE


@pytest.mark.spec("K-05")
def test_a_node_that_does_not_keep_up_tells_that_it_takes_no_partition_until_it_does(cluster: Cluster) -> None:
    node, slow = cluster.join("a"), cluster.join("b")
    store = store_on(node)

    def takers() -> set[str]:
        found = node._link.insist(lambda: node.ownership._leases.under("node"), 30)
        return {holder.node for holder in found if holder.takes}

    assert takers() == {"a", "b"}
    with closing(sqlite3.connect(slow.partitions[HERE].engine.path, isolation_level=None)) as disk:
        disk.execute("BEGIN IMMEDIATE")
        store.put("k", "v")
        wait_for(lambda: takers() == {"a"}, "the slow node to tell that it takes nothing")
        assert not slow.ownership._may_take(slow.partitions[HERE])
    wait_for(lambda: takers() == {"a", "b"}, "the node to take partitions again")


@pytest.mark.spec("K-05")
def test_a_node_lags_by_the_records_that_it_has_to_apply_however_few_messages_they_are_in(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message may be as much work as hundreds."""
    monkeypatch.setattr("dex.engine.cluster.writer._MOST_BEHIND", 100)
    monkeypatch.setattr("dex.engine.cluster.writer._SLOW_SECONDS", 1000.0)
    node, slow = cluster.join("a"), cluster.join("b")
    store_on(node)
    part = slow.partitions[HERE]
    part.writer.wait_for(node.partitions[HERE].writer.applied, 30)
    with part.writer._reached:  # which it takes note with of what it has applied
        node.execute_many([PutRow(store="s", key=b"%d" % number) for number in range(200)])
        eventually(lambda: part.writer.lags)
        assert part.stream.last_seq - part.writer.message < 10
    eventually(lambda: not part.writer.lags)
