"""How records travel: together where they wait together, in order, each with a position and a verdict of its own."""

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from dex.engine.client import Client
from dex.engine.cluster.applying import NOTHING
from dex.engine.cluster.continuity import Reached
from dex.engine.cluster.messages import Committed
from dex.engine.cluster.placing import partition_of
from dex.engine.cluster.reading import Reading
from dex.engine.cluster.verdicts import Verdicts
from dex.engine.journal import encode_record
from dex.wcl.commands import AppendRecords, DefineFeed, FeedRecord, GetRow, PutRow
from dex.wcl.errors import Conflict
from tests.engine.cluster.conftest import check_equal, eventually, store_on

HERE = partition_of("s", 2)


def _put(number, *, unique=None):
    named = {} if unique is None else {"u": unique}
    return PutRow(store="s", key=b"k%d" % number, payload=b"v", named=named)


@pytest.mark.spec("K-03", "S-01")
def test_records_of_one_call_travel_together_each_with_its_position_on_every_node(cluster):
    a, b = (cluster.join(name) for name in ("a", "b"))
    store_on(a)
    part = a.partitions[HERE]
    before = part.writer.message
    results = a.execute_many([_put(number) for number in range(100)])
    assert part.writer.message - before < 10
    first = results[0].seq
    assert [result.seq for result in results] == list(range(first, first + 100))
    rows = [b.execute(GetRow(store="s", key=key, strict=True)) for key in (b"k0", b"k99")]
    assert [row.freshness.behind for row in rows] == [0, 0]
    check_equal(cluster)


@pytest.mark.spec("K-03", "S-06")
def test_a_record_that_is_refused_fails_alone_among_those_it_travels_with(cluster):
    node = cluster.join("a")
    store_on(node)
    results = node.execute_many([_put(0, unique=1), _put(1, unique=1), _put(2, unique=2)])
    assert [type(result) for result in (results[0], results[2])] == [type(results[0])] * 2
    assert isinstance(results[1], Conflict)
    assert results[2].seq == results[0].seq + 2
    assert Client(node).state_store("s").get("k1") is None


@pytest.mark.spec("K-03", "K-05")
def test_a_record_of_an_epoch_that_is_over_is_refused_alone_among_those_it_travels_with(cluster):
    node = cluster.join("a")
    store_on(node)
    part = node.partitions[HERE]
    eventually(lambda: node.ownership.owns(HERE))
    epoch = part.writer.epoch()
    before = part.writer.message
    verdicts = Verdicts(4)
    put = encode_record(_put(0))
    part.writer._send([(put, 0), (NOTHING, epoch), (NOTHING, epoch - 1), (put, 0)], time.monotonic() + 60, verdicts)
    assert verdicts.wait(30)
    assert part.writer.message == before + 1
    assert [getattr(found, "facts", {}).get("reason") for found in verdicts.found] == [None, None, "deposed", None]
    assert [verdicts.found[place].seq for place in (0, 3)] == [part.writer.applied - 3, part.writer.applied]


@pytest.mark.spec("K-03")
def test_records_that_are_too_many_for_one_message_travel_in_several_and_keep_their_order(cluster):
    node = cluster.join("a")
    node.execute(DefineFeed(name="f"))
    part = node.partitions[partition_of("f", 2)]
    before = part.writer.message
    large = [AppendRecords(feed="f", records=[FeedRecord(key=b"k", payload=b"%06d" % n * 10_000)]) for n in range(20)]
    results = node.execute_many(large)
    assert part.writer.message - before >= 10
    assert [result.first_seq for result in results] == list(range(1, 21))


@pytest.mark.spec("K-03", "K-08")
def test_a_node_goes_on_in_the_midst_of_positions_after_messages_of_many_records(cluster):
    node = cluster.join("a")
    store_on(node)
    node.execute_many([_put(number) for number in range(50)])
    part = node.partitions[HERE]
    assert part.writer.applied > part.writer.message
    position = part.writer.applied
    cluster.leave("a")
    node = cluster.join("a")
    part = node.partitions[HERE]
    eventually(lambda: part.writer.applied >= position)
    put = Client(node).state_store("s").put("after", "v")
    assert put.seq > position
    assert (put.freshness.behind, part.writer.fault) == (0, None)
    cluster.join("b")
    check_equal(cluster)


@pytest.mark.spec("K-08")
def test_a_snapshot_after_messages_of_many_records_is_gone_on_from(cluster):
    """It is further in its positions than the stream is in its messages, of which those of the last positions stay."""
    a = cluster.join("a")
    store_on(a)
    eventually(lambda: a.ownership.owns(HERE))
    a.execute_many([_put(number) for number in range(200)])
    taken = a.snapshot()[HERE]
    assert taken.position > taken.reached.seq > 0
    assert a._link.call(a.partitions[HERE].stream.begins_at(), 10) == taken.reached.seq
    Client(a).state_store("s").put("after", "v")
    b = cluster.join("b")
    assert Client(b).state_store("s").get("after", strict=True).payload == b"v"
    check_equal(cluster)


@pytest.mark.spec("K-08")
def test_a_file_from_before_messages_had_several_records_is_gone_on_with(cluster):
    node = cluster.join("a")
    store_on(node).put("k", "v")
    path = node.partitions[HERE].engine.path
    cluster.leave("a")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE journal SET message = NULL")
        connection.commit()
    node = cluster.join("a")
    Client(node).state_store("s").put("k2", "v")
    cluster.join("b")
    check_equal(cluster)


@pytest.mark.spec("K-03", "S-11")
def test_what_is_committed_and_not_applied_is_behind_at_once_after_a_message_of_many_records(cluster):
    """Also before the node has taken note that it has applied that message, which its readers see by then."""
    node = cluster.join("a")
    store = store_on(node)
    part = node.partitions[HERE]
    eventually(lambda: node.ownership.owns(HERE))
    another = cluster.join("b")
    with ThreadPoolExecutor(1) as aside:
        with part.writer._reached:
            many = aside.submit(node.execute_many, [_put(number) for number in range(100)])
            eventually(lambda: store.get("k99") is not None)
            one = another.execute(PutRow(store="s", key=b"after"))
            node._link.call(part.stream.look(), 10)
            found = store.get("k99")
            assert store.get("after") is None
            assert found.freshness.behind == 1
        assert one.seq == many.result()[-1].seq + 1


@pytest.mark.spec("K-03")
def test_a_node_that_is_behind_applies_no_more_records_in_one_transaction_than_it_can_in_a_moment(cluster):
    """However few messages they are in: it could not write anything else meanwhile."""
    node = cluster.join("a")
    store_on(node)
    node.execute_many([_put(number) for number in range(3000)])
    part = node.partitions[HERE]
    link = node._link.beside("reading")
    link.open()
    sizes: list[int] = []

    async def take(batch: Sequence[Committed]) -> None:
        while not sizes and sum(each.pending_msgs for each in link.nc._subs.values()) + len(batch) < last:
            await asyncio.sleep(0.01)  # until all the others wait
        sizes.append(sum(len(message.records) for message in batch))

    last = part.writer.message
    link.submit(Reading(part.stream, link, take).run(Reached(0, None)))
    try:
        eventually(lambda: sum(sizes) >= 3000)
    finally:
        link.close()
    assert max(sizes) < 1500


@pytest.mark.spec("K-03", "K-04")
def test_a_partition_stays_with_the_leader_of_its_stream_and_goes_on_where_that_changes(cluster):
    """By any other server, what is sent and what comes back would be handed on."""
    node = cluster.join("a")
    store = store_on(node)
    part, link = node.partitions[HERE], node._link

    async def step_down() -> None:
        await link.nc.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{part.stream.name}", timeout=5)

    def is_there() -> bool:
        link.insist(part.stream.look, 30)
        return bool(part.stream.leader) and part.writer._link.server == part.stream.leader

    for number in range(3):
        eventually(is_there)
        store.put("k", str(number))
        link.insist(step_down, 30)
    eventually(is_there)
    assert store.put("k", "last").seq > 0
