"""The replicated journal: committed by a quorum, applied alike by every node, and read as strictly as is asked for."""

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from itertools import product

import msgspec
import pytest

from dex.engine.client import Client
from dex.engine.cluster.applying import NOTHING
from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.partition import Partition
from dex.engine.cluster.placing import partition_of
from dex.engine.cluster.verdicts import Verdicts
from dex.engine.housekeeping import Retention
from dex.engine.owner import OwnerChanged
from dex.wcl.commands import AppendRecords, DropStateStore, FeedRecord, GetBy, GetRow, PutRow
from dex.wcl.commands.cluster import ShowCluster
from dex.wcl.errors import Conflict, DexError, Refused, Unavailable
from dex.wcl.names import TEMPORARY
from tests.clusters import Cluster, new_cluster, running_servers
from tests.engine.cluster.conftest import check_equal, eventually, on_servers, store_on

HERE = partition_of("s", 2)


@pytest.fixture
def three(cluster: Cluster) -> Iterator[Cluster]:
    for name in ("a", "b", "c"):
        cluster.join(name)
    return cluster


@pytest.mark.spec("K-03")
def test_every_node_takes_writes_and_answers_reads_under_its_name(three):
    stores = {name: Client(node) for name, node in three.nodes.items()}
    store_on(three.nodes["a"])
    for name, client in stores.items():
        put = client.execute(PutRow(store="s", key=name.encode(), payload=b"v"))
        assert put.freshness.served_by == name
    for client, key in product(stores.values(), stores):
        row = client.execute(GetRow(store="s", key=key.encode(), strict=True))
        assert row.payload == b"v"
        assert row.freshness.behind == 0
        assert row.freshness.served_by == client.engine.settings.node


@pytest.mark.spec("K-03")
def test_every_stream_has_three_replicas_on_disks(three):
    node = three.nodes["a"]
    for part in node.partitions:
        info = node._link.call(node._link.js.stream_info(part.stream.name), 10)
        assert (info.config.num_replicas, info.config.storage, len(info.cluster.replicas)) == (3, "file", 2)


@pytest.mark.spec("K-03", "K-08", "S-06", "S-07")
def test_nodes_that_write_at_the_same_time_end_equal_with_each_claim_held_once(three):
    clients = [Client(node) for node in three.nodes.values()]
    store_on(three.nodes["a"])
    clients[0].wcl("DEFINE FEED f")
    clients[0].wcl("DEFINE STATESTORE over FROM FEED f KEYS t = JSON 't'")
    for node in three.nodes.values():
        for part in node.partitions:
            part.writer.barrier(20)

    def work(number: int) -> list[object]:
        client = clients[number]
        puts = [
            PutRow(store="s", key=b"%d-%d" % (number, i), payload=b"x" * i, named={"u": i}, mutation_id=f"{i}")
            for i in range(40)
        ]
        plain = [PutRow(store="s", key=b"%d" % i, payload=b"%d" % number) for i in range(60)]
        records = [AppendRecords(feed="f", records=[FeedRecord(key=b"%d" % i, payload=b'{"t": 1}')]) for i in range(9)]
        return client.engine.execute_many([*puts, *plain, *records])

    with ThreadPoolExecutor(3) as threads:
        results = list(threads.map(work, range(3)))
    won = [[i for i, result in enumerate(each[:40]) if not isinstance(result, DexError)] for each in results]
    assert sorted(i for each in won for i in each) == list(range(40))
    assert not any(isinstance(result, DexError) for each in results for result in each[40:])
    check_equal(three)


@pytest.mark.spec("K-07", "S-14")
def test_a_temporary_store_is_found_where_another_node_has_made_it_anew(three):
    here, there = Client(three.nodes["a"]), Client(three.nodes["b"])
    name = f"{TEMPORARY}x"
    feed = next(f"f{i}" for i in range(99) if partition_of(f"f{i}", 2) != partition_of(name, 2))
    here.wcl(f"DEFINE FEED {feed}")
    here.wcl(f"DEFINE STATESTORE {name}")
    assert here.execute(GetRow(store=name, key=b"k", strict=True)) is None
    assert there.execute(GetRow(store=name, key=b"k", strict=True)) is None
    there.state_stores.drop(name)
    there.wcl(f"DEFINE STATESTORE {name} FROM FEED {feed}")
    for part in three.nodes["a"].partitions:
        part.writer.barrier(20)
    assert here.execute(GetRow(store=name, key=b"k")) is None
    assert here.state_stores.describe(name).source.feed == feed


@contextmanager
def _unheard_of(cluster: Cluster) -> Iterator[tuple[ClusterEngine, Partition]]:
    """Give a node that cannot apply meanwhile that another one defined the store `over`, and which partition it is.

    It is not where a store of its name would be, were it no feed's.
    """
    here, there = Client(cluster.join("a")), cluster.join("b")
    feed = next(f"f{i}" for i in range(99) if partition_of(f"f{i}", 2) != partition_of("over", 2))
    here.wcl(f"DEFINE FEED {feed}")
    part = there.partitions[partition_of(feed, 2)]
    part.writer.barrier(20)
    with closing(sqlite3.connect(part.engine.path, isolation_level=None)) as disk:
        disk.execute("BEGIN IMMEDIATE")
        here.wcl(f"DEFINE STATESTORE over FROM FEED {feed} KEYS t = JSON 't'")
        yield there, part


@pytest.mark.spec("K-06", "S-11")
def test_a_strict_read_of_a_store_that_the_node_has_not_heard_of_has_not_caught_up(cluster):
    read = GetRow(store="over", key=b"k", strict=True, wait_ms=300)
    with _unheard_of(cluster) as (node, _):
        one, another = node.execute_many([read, GetBy(store="over", named_key="t", value=1, strict=True, wait_ms=300)])
        with pytest.raises(Conflict, match="has not caught up within 300 ms") as caught:
            node.execute(read)
        assert caught.value.reason == one.reason == another.reason == "index_behind"
    assert node.execute(msgspec.structs.replace(read, wait_ms=20_000)) is None


@pytest.mark.spec("K-03")
def test_a_command_on_a_store_that_the_node_has_not_heard_of_waits_until_it_has(cluster):
    """It would be told that there is none, though that was acknowledged."""
    with ThreadPoolExecutor(1) as aside:
        with _unheard_of(cluster) as (node, part):
            dropping = aside.submit(node.execute, DropStateStore("over", if_exists=True))
            eventually(lambda: dropping.done() or part.writer._outbox._sent)
        assert dropping.result().existed


@pytest.mark.spec("K-06", "S-11")
def test_a_read_of_a_store_that_is_committed_and_not_applied_yet_waits_for_it(cluster):
    """As on a node that has just started, which would say that there is none."""
    with ThreadPoolExecutor(1) as aside:
        with _unheard_of(cluster) as (node, part):
            defined = cluster.nodes["a"].partitions[part.number].writer.message
            eventually(lambda: part.stream.last_seq >= defined)
            reading = aside.submit(node.execute, GetRow(store="over", key=b"k"))
            assert not wait([reading], timeout=0.3).done
        assert reading.result() is None


@pytest.mark.spec("K-03")
def test_commands_of_one_call_go_out_together_and_share_transactions(three):
    node = three.nodes["a"]
    store_on(node)
    before = node.partitions[HERE].writer.commits
    results = node.execute_many([PutRow(store="s", key=b"%d" % i) for i in range(500)])
    assert [result.seq for result in results] == sorted({result.seq for result in results})
    assert node.partitions[HERE].writer.commits - before < 250


@pytest.mark.spec("K-03")
def test_a_nodes_own_copy_of_the_journal_is_trimmed_while_rows_come_in(journal_servers):
    with new_cluster(journal_servers, ["a"], retention=Retention(max_bytes=4096)) as cluster:
        node = cluster.nodes["a"]
        store_on(node)
        node.execute_many([PutRow(store="s", key=b"%d" % number, payload=b"x" * 100) for number in range(600)])
        with closing(sqlite3.connect(node.partitions[HERE].engine.path)) as copy:
            eventually(lambda: copy.execute("SELECT count(*) FROM journal").fetchone()[0] < 300)


@pytest.mark.spec("K-06")
def test_a_strict_read_sees_what_any_node_has_acknowledged_before(three):
    writer, reader = Client(three.nodes["a"]), Client(three.nodes["b"])
    store_on(three.nodes["a"])
    assert reader.execute(GetRow(store="s", key=b"none", strict=True)) is None
    for i in range(50):
        writer.execute(PutRow(store="s", key=b"k", payload=b"%d" % i))
        if i % 2:
            found = reader.execute(GetRow(store="s", key=b"k", strict=True))
        else:
            (found,) = reader.engine.execute_many([GetRow(store="s", key=b"k", strict=True)])
        assert found.payload == b"%d" % i


@pytest.mark.spec("K-06", "S-09", "S-11")
def test_a_node_that_lags_says_so_and_refuses_strict_reads(three):
    node = three.nodes["b"]
    store_on(three.nodes["a"])
    part = node.partitions[HERE]
    part.writer.barrier(20)
    with closing(sqlite3.connect(part.engine.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # this node cannot apply meanwhile
        Client(three.nodes["a"]).execute(PutRow(store="s", key=b"k", payload=b"v"))
        eventually(lambda: part.stream.last_seq > part.writer.applied)
        client = Client(node)
        assert client.execute(GetRow(store="s", key=b"k")) is None
        described = client.state_stores.describe("s")
        assert described.behind >= 1
        assert described.committed_seq == described.applied_seq + described.behind
        with pytest.raises(Conflict) as caught:
            client.execute(GetRow(store="s", key=b"k", strict=True, wait_ms=200))
        assert caught.value.reason == "index_behind"
        other.execute("ROLLBACK")
    assert client.execute(GetRow(store="s", key=b"k", strict=True)).payload == b"v"


@pytest.mark.spec("K-06")
def test_strict_reads_at_the_same_time_share_barriers(three):
    client = Client(three.nodes["a"])
    first = store_on(three.nodes["a"]).put("k", "v").seq
    reads = 64
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda _: client.execute(GetRow(store="s", key=b"k", strict=True)), range(reads)))
    assert 1 <= three.nodes["a"].partitions[HERE].writer.applied - first < reads / 2


@pytest.mark.spec("K-03", "S-17")
def test_a_command_that_is_larger_than_the_journal_servers_take_is_refused_at_once(three):
    client = Client(three.nodes["a"])
    client.wcl("DEFINE FEED f")
    record = FeedRecord(key=b"k", payload=b"x" * 1024 * 1024)
    with pytest.raises(Refused, match=r"takes \d+ bytes in the journal, and its servers take \d+; send less"):
        client.execute(AppendRecords(feed="f", records=[record] * 10))
    assert client.execute(AppendRecords(feed="f", records=[record] * 3)).seq == 3


@pytest.mark.spec("K-03")
def test_a_record_of_a_newer_version_stops_a_node_where_it_is_rather_than_making_it_differ(cluster):
    node = cluster.join("a")
    store = store_on(node)
    store.put("k", "v")
    part = node.partitions[HERE]
    _send(part, b"\x81\xa7command\xa6future")
    eventually(lambda: part.writer.fault is not None)
    told = rf"not kept current: stream {part.stream.name} .*message \d+, .*does not know; upgrade this node"
    with pytest.raises(Unavailable, match=told):
        store.get("k")
    with pytest.raises(Unavailable, match=told):
        node.probe(1)


@pytest.mark.spec("K-03", "K-09")
def test_a_message_of_a_node_that_is_none_of_this_version_stops_a_node_and_is_told_with_its_number(
    cluster, journal_servers
):
    node = cluster.join("a")
    part = node.partitions[HERE]
    seq = _publish(journal_servers, part, b"\xc1", headers={"Nats-Msg-Id": "newer-1"})
    eventually(lambda: part.writer.fault is not None)
    report = node.execute(ShowCluster()).partitions[HERE]
    assert f"{part.stream.name} has message {seq}, which this version" in report.copies[0].fault
    assert "upgrade this node" in report.copies[0].fault


@pytest.mark.spec("K-03")
@pytest.mark.parametrize("data", [b"hello", b"", b"\x93\x00\xc4\x01\xc1\x00"])
def test_what_no_node_has_written_counts_as_nothing_on_all_nodes(three, journal_servers, caplog, data):
    store = store_on(three.nodes["a"])
    part = three.nodes["a"].partitions[HERE]
    seq = _publish(journal_servers, part, data)
    assert store.put("k", "v").seq > seq
    check_equal(three)
    told = [record for record in caplog.records if "which no node wrote" in record.getMessage()]
    assert len(told) == 3
    assert f"{part.stream.name} has message {seq}, which" in told[0].getMessage()


def _publish(servers, part, data, **options):
    """Publish into a partition's stream, as anybody with the journal servers' password could; give its sequence."""
    return on_servers(servers, lambda js: js.publish(part.stream.subject, data, **options)).seq


def _send(part, record):
    """Begin to write a record, whatever it is, as a node does; give what its verdict will be in."""
    verdicts = Verdicts(1)
    part.writer._send([(record, 0)], time.monotonic() + 600, verdicts)
    return verdicts


@pytest.mark.spec("K-05", "K-09")
def test_a_node_that_stopped_there_ends_what_waits_for_it_and_leaves_the_partition_to_others(cluster):
    """It owns the other partition as before, and has nothing to wait for when it is closed."""
    node = cluster.join("a")
    eventually(lambda: node.ownership.owns(0) and node.ownership.owns(1))
    part = node.partitions[HERE]
    _send(part, b"\x81\xa7command\xa6future")
    waiting = _send(part, NOTHING)
    assert waiting.wait(30)
    (verdict,) = waiting.found
    assert "does not go on with" in str(verdict)
    eventually(lambda: not node.ownership.owns(HERE))
    assert node.ownership.owns(1 - HERE)
    found = cluster.join("b").ownership
    with pytest.raises(Unavailable, match="nothing was sent"):
        part.writer.take_over(OwnerChanged(epoch=1, node="a", url="here"), 20)
    assert found.owner(HERE) is None


@pytest.mark.spec("K-04")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nats-py leaves lost connections open
def test_writes_go_on_without_the_journal_server_that_led_and_nothing_acknowledged_is_lost():
    with running_servers() as servers, new_cluster(servers, ["a", "b"]) as cluster:
        node = cluster.nodes["a"]
        store = store_on(node)
        acknowledged = [store.put(f"k{i}", "v").seq for i in range(20)]
        info = node._link.call(node._link.js.stream_info(node.partitions[HERE].stream.name), 10)
        (leader,) = [server for server in servers.servers if server.name == info.cluster.leader]
        leader.kill()
        acknowledged += [store.put(f"down {i}", "v").seq for i in range(20)]
        leader.start()
        acknowledged += [store.put(f"back {i}", "v").seq for i in range(20)]
        assert acknowledged == sorted(set(acknowledged))
        check_equal(cluster)
        keys = {row.key for row in Client(cluster.nodes["b"]).state_store("s").iterate()}
        assert len(keys) == len(acknowledged)
