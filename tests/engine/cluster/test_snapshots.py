"""Snapshots: taken, verified, begun with, refused, and the journal purged below them."""

import logging
import shutil

import pytest

from dex.engine.client import Client
from dex.engine.cluster.placing import partition_of
from dex.engine.cluster.snapshot import copy_file
from dex.wcl.errors import FailedPrecondition, Unavailable
from tests.clusters import new_cluster, owner_of, running_servers
from tests.engine.cluster.conftest import check_equal, eventually, on_servers, store_on

HERE = partition_of("s", 2)
"""The partition of the store that the tests use."""


def _state(node):
    """Tell how the stream of the store is."""
    part = node.partitions[HERE]
    return node._link.call(node._link.js.stream_info(part.stream.name), 10).state


def _alone(cluster, **settings):
    """Start the first node, and wait until it has told the journal all that it tells of itself: that it owns it."""
    node = cluster.join("a", **settings)
    for part in node.partitions:
        owner_of([node], part.number)
    return node


def _with_rows(cluster):
    """Start the first node with a store of twenty rows; give both."""
    node = _alone(cluster)
    store = store_on(node)
    for i in range(20):
        store.put(f"k{i}", "v", {"u": i})
    return node, store


def _corrupt(node, manifest):
    """Put something else in the place of a snapshot's chunks."""

    async def put():
        store = await node._link.js.object_store(f"{node.settings.name}-snapshots")
        await store.put(manifest.name, b"something else")

    node._link.call(put(), 10)


def _lose_parts(node, manifest):
    """Delete a snapshot's chunks."""

    async def lose():
        bucket = f"{node.settings.name}-snapshots"
        info = await (await node._link.js.object_store(bucket)).get_info(manifest.name)
        await node._link.js.purge_stream(f"OBJ_{bucket}", subject=f"$O.{bucket}.C.{info.nuid}")

    node._link.call(lose(), 10)


@pytest.mark.spec("K-08")
def test_a_snapshot_is_of_all_that_was_committed_and_the_journal_goes_below_it_but_for_its_end(cluster):
    node = _alone(cluster)
    store = store_on(node)
    seq = [store.put(f"k{i}", "v", {"u": i}).seq for i in range(20)][-1]
    taken = node.snapshot()
    assert [manifest.partition for manifest in taken] == [0, 1]
    assert taken[HERE].position == seq
    assert node._snapshotting.position(HERE) == seq
    assert _state(node).first_seq == seq - 5 + 1
    assert store.get("k0").payload == b"v"


@pytest.mark.spec("K-08")
@pytest.mark.parametrize("wiped", [False, True])
def test_a_new_or_wiped_node_begins_with_the_snapshot_and_takes_the_tail(cluster, wiped):
    node = _alone(cluster)
    if wiped:
        cluster.join("b")
    store = store_on(node)
    for i in range(20):
        store.put(f"k{i}", "v", {"u": i}, mutation_id=f"m{i}")
    if wiped:
        cluster.leave("b")
        shutil.rmtree(cluster.folder / "b")
    node.snapshot()
    tail = store.put("tail", "t", {"u": "tail"})
    late = cluster.join("b")
    late.partitions[HERE].writer.wait_for(tail.seq, 20)
    check_equal(cluster)
    copy = Client(late).state_store("s")
    assert (copy.get("k0").payload, copy.get("tail").payload) == (b"v", b"t")
    assert copy.put("k3", "v", {"u": 3}, mutation_id="m3").replayed
    with pytest.raises(Exception, match="already has u"):
        copy.put("other", "v", {"u": 3})


@pytest.mark.spec("K-08")
def test_a_node_that_was_away_for_longer_than_the_journal_is_kept_begins_anew_and_one_that_was_not_goes_on(cluster):
    node = _alone(cluster)
    cluster.join("b")
    cluster.join("c")
    store = store_on(node)
    check_equal(cluster)
    cluster.leave("b")
    for i in range(30):
        store.put(f"k{i}", "v", {"u": i})
    check_equal(cluster)
    cluster.leave("c")
    (cluster.folder / "c" / f"partition-{HERE}" / "own").touch()
    (cluster.folder / "b" / f"partition-{HERE}" / "own").touch()
    node.snapshot()
    for name in ("b", "c"):
        cluster.join(name)
    check_equal(cluster)
    assert [(cluster.folder / name / f"partition-{HERE}" / "own").exists() for name in ("b", "c")] == [False, True]
    assert sorted(path.name for path in (cluster.folder / "b").iterdir()) == [
        "cluster.json",
        "node.lock",
        "partition-0",
        "partition-1",
    ]


@pytest.mark.spec("K-08")
def test_a_snapshot_is_taken_by_itself_once_enough_was_committed_and_by_one_node_only(cluster, monkeypatch):
    monkeypatch.setattr("dex.engine.cluster.snapshotting._LOOK_SECONDS", 0.05)
    nodes = [cluster.join(name, snapshot_positions=50) for name in ("a", "b")]
    store = store_on(nodes[0])
    for i in range(60):
        store.put(f"k{i}", "v", {"u": i})
    eventually(lambda: all((node._snapshotting.position(HERE) or 0) >= 50 for node in nodes))
    assert [node._snapshotting.position(1 - HERE) for node in nodes] == [None, None]


@pytest.mark.spec("K-08")
def test_a_snapshot_whose_manifest_was_lost_is_taken_anew_where_the_journal_was_purged(
    cluster, journal_servers, monkeypatch
):
    monkeypatch.setattr("dex.engine.cluster.snapshotting._LOOK_SECONDS", 0.05)
    node, store = _with_rows(cluster)
    taken = node.snapshot()
    on_servers(journal_servers, lambda js: js.purge_stream(f"{cluster.name}-settings", subject="*.snapshot.*"))
    store.put("more", "v", {"u": "more"})
    eventually(lambda: (node._snapshotting.position(HERE) or 0) > taken[HERE].position)
    cluster.join("b")
    check_equal(cluster)


@pytest.mark.spec("K-08")
def test_a_snapshot_that_does_not_verify_is_refused_with_what_to_do(cluster):
    node, store = _with_rows(cluster)
    taken = node.snapshot()
    _corrupt(node, taken[HERE])
    with pytest.raises(FailedPrecondition, match=r"does not verify.*dex cluster snapshot"):
        cluster.join("b")
    assert not (cluster.folder / "b" / f"partition-{HERE}").exists()
    store.put("more", "v", {"u": "more"})
    node.snapshot()
    cluster.join("b")
    check_equal(cluster)


@pytest.mark.spec("K-08", "K-09")
def test_a_snapshot_that_does_not_verify_is_taken_again_though_nothing_was_committed(cluster):
    node = _alone(cluster)
    store_on(node)
    taken = node.snapshot()
    _lose_parts(node, taken[HERE])
    again = node.snapshot()
    assert again[HERE].position == taken[HERE].position
    cluster.join("b")
    check_equal(cluster)


@pytest.mark.spec("K-08")
def test_a_node_begins_with_the_snapshot_before_where_parts_of_the_newest_are_missing(cluster, caplog):
    caplog.set_level(logging.INFO)
    node = _alone(cluster, kept_positions=1000)
    store = store_on(node)
    before = node.snapshot()[HERE]
    store.put("k", "v", {"u": 1})
    newest = node.snapshot()[HERE]
    _lose_parts(node, newest)
    cluster.join("b")
    check_equal(cluster)
    failed = f"at position {newest.position} does not verify: 1 of its parts are missing; trying the one before"
    assert f"{failed}, at position {before.position}" in caplog.text
    assert f"begins with the snapshot at position {before.position}" in caplog.text


@pytest.mark.spec("K-08")
def test_a_node_says_why_no_snapshot_will_do(cluster):
    node = _alone(cluster)
    store = store_on(node)
    before = node.snapshot()[HERE]
    for i in range(20):
        store.put(f"k{i}", "v", {"u": i})
    _lose_parts(node, node.snapshot()[HERE])
    begins = rf"the one before, at message {before.reached.seq}, ends before the stream begins"
    purged = rf"parts are missing; {begins}.*dex cluster sn"
    with pytest.raises(FailedPrecondition, match=purged):
        cluster.join("b")


def _objects(node):
    """Tell how many snapshots the journal servers have, and in how many parts."""
    bucket = f"{node.settings.name}-snapshots"

    def count(kind):
        info = node._link.js.stream_info(f"OBJ_{bucket}", subjects_filter=f"$O.{bucket}.{kind}.>")
        return len(node._link.call(info, 10).state.subjects or {})

    return count("M"), count("C")


@pytest.mark.spec("K-08")
def test_a_node_that_hung_while_it_took_a_snapshot_spoils_none(cluster, tmp_path):
    """Another one has taken a later snapshot meanwhile, and the journal is purged below that."""
    hung, store = _alone(cluster)._snapshotting, store_on(cluster.nodes["a"])
    copy = copy_file(hung._partitions[HERE].engine.path, tmp_path / "copy")
    late = hung._manifest(HERE, copy, None)
    for i in range(20):
        store.put(f"k{i}", "v", {"u": i})
    another = cluster.join("b")
    another.partitions[HERE].writer.barrier(20)
    newest = another.snapshot()[HERE]
    assert hung._link.call(hung._store.put(late, tmp_path / "copy"), 30) == newest
    cluster.join("c")
    check_equal(cluster)


def _positions(node):
    """Give where snapshots are taken, nothing where they cannot be."""
    try:
        return [manifest.position for manifest in node.snapshot()]
    except Unavailable:
        return []


@pytest.mark.spec("K-08")
def test_snapshots_that_were_all_lost_are_taken_again(cluster, monkeypatch):
    """Somebody has deleted the stream that they are in; a new one has no leader for a moment."""
    monkeypatch.setattr("dex.engine.cluster.snapshot._ANSWER_SECONDS", 1.0)
    node, _ = _with_rows(cluster)
    before = node.snapshot()
    node._link.call(node._link.js.delete_stream(f"OBJ_{node.settings.name}-snapshots"), 10)
    eventually(lambda: _positions(node) == [manifest.position for manifest in before])
    cluster.join("b")
    check_equal(cluster)


@pytest.mark.spec("K-08")
def test_of_each_partition_two_snapshots_stay(cluster):
    node = _alone(cluster)
    store = store_on(node)
    for i in range(4):
        store.put(f"k{i}", "v")
        node.snapshot()
    assert _objects(node) == (2 + 1, 2 + 1)  # nothing is written in the other partition


@pytest.mark.spec("K-08")
def test_a_snapshot_again_without_a_commit_in_between_is_the_same(cluster):
    node = _alone(cluster)
    store_on(node)
    assert node.snapshot() == node.snapshot()


@pytest.mark.spec("K-04", "K-08")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nats-py leaves lost connections open
def test_a_node_goes_on_from_where_it_is_when_the_leader_of_a_purged_journal_is_lost():
    """It has read all of the journal since it began, and what it began at is gone."""
    settings = {"kept_positions": 5, "lease_seconds": 2.0}
    with running_servers() as servers, new_cluster(servers, ["a", "b"], settings=settings) as cluster:
        node = cluster.nodes["a"]
        store = store_on(node)
        for number in range(20):
            store.put(f"k{number}", "v")
        node.snapshot()
        info = node._link.call(node._link.js.stream_info(node.partitions[HERE].stream.name), 10)
        (leader,) = [server for server in servers.servers if server.name == info.cluster.leader]
        leader.kill()
        store.put("down", "v")
        leader.start()
        store.put("back", "v")
        check_equal(cluster)
