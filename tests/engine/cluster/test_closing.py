"""What a write is told that is on its way to the journal when its node closes."""

import threading

import pytest

from dex.engine.cluster.servers import JournalServers
from dex.wcl.commands import DefineStateStore, GetRow, PutRow
from dex.wcl.errors import Unavailable
from tests.clusterprocesses import wait_for
from tests.clusters import new_cluster, running_servers


@pytest.mark.spec("K-07")
def test_a_write_that_a_close_cuts_off_may_have_been_applied() -> None:
    """Who is told so does not send it again by another node, which would make it twice."""
    found: list[Unavailable] = []
    with running_servers() as servers, new_cluster(servers, ("a",), settings={"partitions": 1}) as cluster:
        node = cluster.nodes["a"]
        (part,) = node.partitions
        node.execute(DefineStateStore(name="s"))

        def put() -> None:
            with pytest.raises(Unavailable) as caught:
                node.execute(PutRow(store="s", key=b"k"))
            found.append(caught.value)

        for server in servers.servers:
            server.pause()
        before, putting = part.writer.writes, threading.Thread(target=put)
        putting.start()
        wait_for(lambda: part.writer.writes > before, "the write to be on its way")
        part.close()
        putting.join()
        for server in servers.servers:
            server.resume()
    assert found[0].facts["applied"] == "unknown"


@pytest.mark.spec("K-07")
def test_a_write_that_comes_after_the_close_is_not_sent_and_told_so_at_once(journal_servers: JournalServers) -> None:
    """As the next one of a call whose first was cut off: it may be sent again by another node."""
    with new_cluster(journal_servers, ("a", "b"), settings={"partitions": 1}) as cluster:
        node, other = cluster.nodes["a"], cluster.nodes["b"]
        node.execute(DefineStateStore(name="s"))
        node.execute(PutRow(store="s", key=b"first"))
        (part,) = node.partitions
        part.close()
        for _ in range(2):
            with pytest.raises(Unavailable, match="the engine is closed: nothing was sent") as caught:
                node.execute(PutRow(store="s", key=b"k"))
            assert "applied" not in caught.value.facts
        with pytest.raises(Unavailable, match="the engine is closed: nothing was sent"):
            part.writer.barrier(30)
        assert other.execute(GetRow(store="s", key=b"k", strict=True)) is None
