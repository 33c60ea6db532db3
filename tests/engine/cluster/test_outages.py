"""What a node says while something fails: little, and what it is."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import msgspec
import pytest
from nats.js import JetStreamContext

from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.placing import partition_of
from dex.engine.cluster.servers import JournalServers
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.wcl.commands import DefineStateStore, PutRow
from dex.wcl.errors import Unavailable
from tests.clusterprocesses import PATIENCE, NodeProcess, process_cluster, wait_for
from tests.clusters import new_cluster, running_servers
from tests.engine.cluster.conftest import eventually, on_servers


def _warnings(node: NodeProcess) -> list[str]:
    lines = [msgspec.json.decode(line) for line in node.log().splitlines() if line.startswith("{")]
    return [line["message"] for line in lines if line["level"] != "info" or "again" in line["message"]]


@pytest.mark.spec("K-01", "K-04")
def test_an_outage_of_the_journal_is_told_when_it_begins_and_when_it_is_over() -> None:
    """Each part of a node, which is named before the colon, says by turns that it fails and that it works again."""
    with running_servers() as servers, process_cluster(servers, ("a",)) as cluster:
        node = cluster["a"]
        cluster.wait_until_owned("a")
        for server in servers.servers:
            server.kill()
        wait_for(lambda: "journal servers do not take" in node.log(), "the outage to be told", node.log)
        wait_for(lambda: "journal servers: no connection" in node.log(), "the connection's too", node.log)
        for server in servers.servers:
            server.start()
        wait_for(lambda: "do not take what this node tells them: works again" in node.log(), "its end", node.log)
        told: dict[str, list[bool]] = {}
        for message in _warnings(node):
            told.setdefault(message.partition(":")[0], []).append("works again" in message)
        assert "journal servers" in told
        assert all(ends == [False, True] * (len(ends) // 2) + [False] * (len(ends) % 2) for ends in told.values())


@pytest.mark.spec("K-01", "K-04")
def test_a_change_of_the_journal_server_is_not_told_as_an_outage() -> None:
    """While two are lost, a node goes to another one again and again."""
    with running_servers() as servers, process_cluster(servers, ("a",)) as cluster:
        node = cluster["a"]
        cluster.wait_until_owned("a")
        for server in servers.servers[:2]:
            server.kill()
        with node.engine(timeout=8) as engine, pytest.raises(Unavailable):
            engine.execute(DefineStateStore(name="s"))  # and a partition's connection has gone to another server, too
        wait_for(lambda: "journal servers do not take" in node.log(), "the outage to be told", node.log)
        assert [message for message in _warnings(node) if message.startswith("journal servers: ")] == []


@pytest.mark.spec("K-08")
def test_what_is_soon_over_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    """At a fresh start the journal servers are choosing leaders, and there is no snapshot anyway."""
    outage = Outage("something", patience=3600.0)
    outage.goes_on("no answer in time")
    outage.is_over()
    assert not caplog.records


@pytest.mark.spec("K-01", "K-06")
def test_a_node_that_cannot_write_its_file_says_that_it_is_not_ready_for_that(
    journal_servers: JournalServers,
) -> None:
    """A full disk is told likewise; it is ready by itself once that is over."""
    with new_cluster(journal_servers, ("a",), timeout=1.0) as cluster:
        node = cluster.nodes["a"]
        node.probe(30)
        with closing(sqlite3.connect(node.partitions[0].engine.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unavailable, match=r"not caught up with the journal within 4 s: .* is busy") as caught:
                node.probe(4)
            assert caught.value.message.count("is busy") == 1
            assert "cannot apply what partition 0 has" in node.hindrance()
            other.execute("ROLLBACK")
        eventually(lambda: not node.hindrance())
        node.probe(30)


@pytest.mark.spec("K-03", "K-04")
def test_a_partition_that_takes_no_writes_holds_up_those_of_no_other(journal_servers: JournalServers) -> None:
    """Nor do names that are given meanwhile, for which all partitions are asked."""
    with new_cluster(journal_servers, ("a",)) as cluster, ThreadPoolExecutor(2) as aside:
        node, one, other = cluster.nodes["a"], *_stores_of_two_partitions()
        engine = RemoteEngine(parse_endpoints(cluster.urls["a"]), timeout=PATIENCE)
        for store in (one, other):
            engine.execute(DefineStateStore(name=store))
        held = node.partitions[partition_of(one, 2)]
        with closing(sqlite3.connect(held.engine.path, isolation_level=None)) as disk:
            disk.execute("BEGIN IMMEDIATE")
            waiting = [
                aside.submit(engine.execute, command)
                for command in (PutRow(store=one, key=b"k"), DefineStateStore(name="new"))
            ]
            eventually(lambda: len(held.writer._outbox._sent) + len(held.writer._outbox._new) == len(waiting))
            for number in range(3):
                engine.execute(PutRow(store=other, key=b"%d" % number))
            _, written = engine.execute_many([PutRow(store=other, key=b"k"), PutRow(store=other, key=b"l")])
            assert not written.replaced
            assert not any(each.done() for each in waiting)
        assert [each.result().seq > 0 for each in waiting] == [True, True]
        engine.close()


def _stores_of_two_partitions() -> list[str]:
    names = [f"store-{number}" for number in range(20)]
    return [next(name for name in names if partition_of(name, 2) == number) for number in range(2)]


@pytest.mark.spec("K-01", "K-04")
def test_a_journal_that_takes_no_writes_is_told_once_however_many_there_are(
    journal_servers: JournalServers, caplog: pytest.LogCaptureFixture
) -> None:
    """As where the disks of its servers are full."""
    with new_cluster(journal_servers, ("a",), timeout=1.0) as cluster:
        node = cluster.nodes["a"]
        stream = node.partitions[partition_of("s", 2)].stream
        eventually(lambda: node.ownership.owns(0) and node.ownership.owns(1))
        node.execute(DefineStateStore(name="s"))
        on_servers(journal_servers, lambda js: _limit(js, stream.name, 1))
        for _ in range(3):
            with pytest.raises(Unavailable):
                node.execute(PutRow(store="s", key=b"k"))
        on_servers(journal_servers, lambda js: _limit(js, stream.name, -1))
        eventually(lambda: _is_written(node))
        # What was written may be read before the journal's answer.
        eventually(lambda: "works again" in _told(caplog)[-1])
        assert len(_told(caplog)) == 2


def _told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith("writing to")]


async def _limit(js: JetStreamContext, name: str, most: int) -> None:
    config = (await js.stream_info(name)).config
    await js.update_stream(config.evolve(max_msgs=most))


def _is_written(node: ClusterEngine) -> bool:
    try:
        node.execute(PutRow(store="s", key=b"k"))
    except Unavailable:
        return False
    return True
