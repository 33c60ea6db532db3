"""A stream that was lost, made anew or put back to an earlier state is told from the one that nodes have applied."""

import shutil
from collections.abc import Callable
from functools import partial

import pytest

from dex.engine.cluster import identity
from dex.engine.cluster.applying import NOTHING
from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.link import Link
from dex.engine.cluster.messages import encode
from dex.engine.cluster.servers import JournalServers
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.cluster.shared import Shared
from dex.engine.cluster.stream import Stream
from dex.wcl.commands import DefineStateStore
from dex.wcl.errors import FailedPrecondition
from tests.clusterprocesses import NodeProcess, ProcessCluster, process_cluster, wait_for
from tests.clusters import Cluster, running_servers
from tests.engine.cluster.conftest import check_equal, eventually, on_servers, store_on
from tests.engine.cluster.test_snapshots import HERE

RESTORE = r"put back the journal of all journal servers.*from a backup \(README: Backup\)"


@pytest.fixture
def used(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster with a node that has applied some rows, and was stopped; no server is waited for that was cut off."""
    monkeypatch.setattr("dex.engine.cluster.continuity._START_SECONDS", 0.0)
    monkeypatch.setattr("dex.engine.cluster.continuity._READING_SECONDS", 0.0)
    _write(cluster.join("a"))
    cluster.leave("a")
    return cluster


def _write(node: ClusterEngine, count: int = 20) -> None:
    store = store_on(node)
    for i in range(count):
        store.put(f"k{i}", "v", {"u": i})


def _name(cluster: Cluster, number: int = HERE) -> str:
    return f"{cluster.name}-journal-{number}"


def _make_anew(servers: JournalServers, name: str) -> None:
    """Put a stream back to what it was before its first message."""

    async def make(js):
        config = (await js.stream_info(name)).config
        await js.delete_stream(name)
        await js.add_stream(config)

    on_servers(servers, make)


def _publish(servers: JournalServers, cluster: Cluster | ProcessCluster, count: int) -> None:
    """Write as another node of the cluster would."""
    link = Link(servers.urls, "another node")
    link.open()
    try:
        stream = Stream(link, cluster.name, HERE, 3)
        for number in range(count):
            headers = {"Nats-Msg-Id": f"other-{number}"}
            work = partial(link.js.publish, stream.subject, encode(0, [(NOTHING, 0)]), headers=headers)
            link.insist(work, 30)
    finally:
        link.close()


def _wipe(cluster: Cluster, node: str) -> None:
    shutil.rmtree(cluster.folder / node)


@pytest.mark.spec("K-03", "K-08")
@pytest.mark.parametrize("node", ["a", "wiped", "new"])
def test_a_stream_that_was_deleted_is_made_anew_by_no_node(used: Cluster, journal_servers: JournalServers, node: str):
    on_servers(journal_servers, lambda js: js.delete_stream(_name(used)))
    if node == "wiped":
        _wipe(used, "a")
    with pytest.raises(FailedPrecondition, match=rf"stream {_name(used)} .*127.0.0.1:\d+.* is not there; .*{RESTORE}"):
        used.join("new" if node == "new" else "a")
    streams = on_servers(journal_servers, lambda js: js.streams_info())
    assert _name(used) not in [info.config.name for info in streams]


@pytest.mark.spec("K-03")
def test_a_stream_that_was_made_anew_by_hand_is_not_the_clusters(used: Cluster, journal_servers: JournalServers):
    async def make(js):
        config = (await js.stream_info(_name(used))).config
        await js.delete_stream(_name(used))
        config.metadata = None
        await js.add_stream(config)

    on_servers(journal_servers, make)
    _wipe(used, "a")
    with pytest.raises(FailedPrecondition, match=rf"{_name(used)} .*made for no cluster, and .* cluster \w+; .*README"):
        used.join("a")


@pytest.mark.spec("K-03")
def test_a_node_with_files_makes_no_cluster_where_the_journal_servers_have_lost_all(
    used: Cluster, journal_servers: JournalServers
):
    async def lose(js):
        for info in await js.streams_info():
            if f"{used.name}-" in info.config.name:
                await js.delete_stream(info.config.name)

    on_servers(journal_servers, lose)
    with pytest.raises(FailedPrecondition, match=rf"have no cluster '{used.name}'.*restore those from a backup"):
        used.join("a")
    streams = on_servers(journal_servers, lambda js: js.streams_info())
    assert not [info for info in streams if f"{used.name}-" in info.config.name]


@pytest.mark.spec("K-03")
def test_a_cluster_whose_first_node_was_killed_while_it_made_the_streams_is_made_by_the_next(
    cluster: Cluster, journal_servers: JournalServers
):
    """The first of two streams is there, and nothing says that all are."""
    link = Link(journal_servers.urls, "killed")
    link.open()
    try:
        shared = Shared(link, cluster.name, 3)
        link.insist(shared.make, 30)
        proposed = identity.proposed(ClusterSettings(servers=(), node="killed", partitions=2))
        found = identity.decode(link.insist(lambda: shared.once("cluster", proposed), 30))
        link.insist(lambda: Stream(link, cluster.name, 0, 3).join(found.cluster_id, is_made=False), 30)
    finally:
        link.close()
    for name in ("a", "b"):
        cluster.join(name)
    _write(cluster.nodes["a"])
    check_equal(cluster)


@pytest.mark.spec("K-08")
def test_a_stream_that_was_put_back_and_written_again_beyond_what_a_node_has_is_refused(
    used: Cluster, journal_servers: JournalServers
):
    """The other node writes the very same, so that lengths and contents tell nothing."""
    _make_anew(journal_servers, _name(used))
    with pytest.raises(FailedPrecondition, match=rf"ends at message 0, and \d+ was applied before; .*{RESTORE}"):
        used.join("a")
    _write(used.join("b"), 30)
    with pytest.raises(FailedPrecondition, match=rf"another message \d+ than was applied.*{RESTORE}"):
        used.join("a")


@pytest.mark.spec("K-08")
def test_a_position_at_which_nothing_was_written_is_compared_too(used: Cluster, journal_servers: JournalServers):
    """The last that the node has applied is the barrier of a strict read."""
    node = used.join("a")
    node.partitions[HERE].writer.barrier(20)
    end = node.partitions[HERE].writer.message
    used.leave("a")
    _make_anew(journal_servers, _name(used))
    _publish(journal_servers, used, end + 5)
    with pytest.raises(FailedPrecondition, match=rf"another message {end} than was applied"):
        used.join("a")


@pytest.mark.spec("K-08")
def test_a_snapshot_of_a_stream_that_was_put_back_and_written_again_is_not_begun_with(
    used: Cluster, journal_servers: JournalServers
):
    node = used.join("a")
    taken = node.snapshot()[HERE]
    used.leave("a")
    used.join("a")
    used.leave("a")
    _make_anew(journal_servers, _name(used))
    _publish(journal_servers, used, taken.position + 5)
    with pytest.raises(FailedPrecondition, match=r"another message \d+ than was applied"):
        used.join("b")


@pytest.mark.spec("K-08")
def test_a_node_that_began_with_a_snapshot_knows_the_last_message_of_it(used: Cluster, journal_servers: JournalServers):
    taken = used.join("a").snapshot()[HERE]
    used.leave("a")
    used.join("b")
    used.leave("b")
    _make_anew(journal_servers, _name(used))
    on_servers(journal_servers, lambda js: js.purge_stream(f"{used.name}-settings", subject=f"*.snapshot.{HERE}"))
    _publish(journal_servers, used, taken.position + 5)
    with pytest.raises(FailedPrecondition, match=r"another message \d+ than was applied"):
        used.join("b")


@pytest.mark.spec("K-08", "K-09")
def test_a_node_that_reads_stops_where_the_stream_was_deleted(used: Cluster, journal_servers: JournalServers):
    node = used.join("a")
    part = node.partitions[HERE]
    on_servers(journal_servers, lambda js: js.delete_stream(_name(used)))
    eventually(lambda: part.writer.fault is not None)
    assert "is not there" in str(part.writer.fault)
    assert node.partitions[1 - HERE].writer.fault is None


@pytest.mark.spec("K-08", "K-09")
def test_a_node_that_reads_stops_where_the_files_of_the_journal_servers_were_put_back_and_written_again():
    with running_servers() as servers, process_cluster(servers, ["a"]) as cluster:
        node = cluster["a"]
        _put_back(servers, lambda: _define(node))
        end = cluster.partition(HERE, "a").copies[0].applied
        _publish(servers, cluster, end + 5)
        wait_for(lambda: cluster.partition(HERE, "a").copies[0].fault, "a fault", node.log)
        assert "has another message" in cluster.partition(HERE, "a").copies[0].fault


def _define(node: NodeProcess) -> None:
    with node.engine() as engine:
        engine.execute(DefineStateStore(name="s"))


def _put_back(servers: JournalServers, meanwhile: Callable[[], None]) -> None:
    """Copy the files of the journal servers as of one moment, and put the copies back after something."""
    stores = [server.folder / "store" for server in servers.servers]
    for server in servers.servers:
        server.pause()
    for store in stores:
        shutil.copytree(store, store.with_name("copy"))
    for server in servers.servers:
        server.resume()
    meanwhile()
    servers.stop()
    for store in stores:
        shutil.rmtree(store)
        store.with_name("copy").rename(store)
    servers.start()
