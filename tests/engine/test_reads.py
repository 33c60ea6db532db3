"""Look-ups: what they find, how fresh they say it is, and what a strict one waits for."""

import sqlite3
from contextlib import closing

import pytest

from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.statestore import Extractor, StateStore
from dex.wcl.commands import (
    AppendRecords,
    DefineFeed,
    DefineStateStore,
    DescribeStateStore,
    FeedRecord,
    Freshness,
    GetBy,
    GetRow,
    PutRow,
    StoreRows,
)
from dex.wcl.errors import Conflict, DexError, InvalidCommand, NotFound, Refused, Unavailable
from tests.engine.conftest import ONE_FILE


@pytest.fixture
def store(client: Client) -> StateStore:
    return client.state_stores.define(StateStore.named("accounts.employees").add_key("department"))


@pytest.mark.spec("S-09")
def test_get_gives_the_row_with_its_freshness_or_none(store):
    assert store.get("k") is None
    seq = store.put("k", "v", {"department": "eng"}).seq
    row = store.get("k")
    assert (row.key, row.payload, row.named) == (b"k", b"v", {"department": "eng"})
    assert row.freshness == Freshness(seq, seq, 0, row.freshness.served_by)


@pytest.mark.spec("S-09", "S-11")
def test_a_row_that_is_required_and_not_there_tells_how_fresh_that_is(store, client):
    """A reader may have to know whether it is not there yet."""
    seq = store.put("other", "v").seq
    with pytest.raises(NotFound, match=r"there is no row 'k' in 'accounts\.employees'") as caught:
        client.execute(GetRow(store=store.name, key=b"k", required=True))
    found = Freshness(**caught.value.freshness)
    assert found == Freshness(seq, seq, 0, found.served_by)
    assert client.execute(GetRow(store=store.name, key=b"other", required=True)).payload == b"v"


@pytest.mark.spec("S-09")
def test_an_answer_counts_every_commit_before_it_whatever_it_was_to(store, client):
    store.put("k", "v")
    other = client.state_stores.define(StateStore.named("other"))
    seq = other.put("x", "").seq
    assert store.get("k").freshness.committed_seq == seq


@pytest.mark.spec("S-10")
def test_get_by_gives_every_row_in_key_order_always_as_a_list(store):
    for key in ("c", "a", "b", "z"):
        store.put(key, key.upper(), {"department": "eng" if key != "z" else "ops"})
    found = store.get_by("department", "eng")
    assert [(row.key, row.payload) for row in found.rows] == [(b"a", b"A"), (b"b", b"B"), (b"c", b"C")]
    assert found.freshness.behind == 0
    one, none = store.get_by("department", "ops"), store.get_by("department", "hr")
    assert (len(one.rows), none.rows) == (1, [])
    assert none.freshness.committed_seq == found.freshness.committed_seq


@pytest.mark.spec("S-10")
def test_a_row_without_the_value_and_a_row_with_null_are_told_apart(store):
    store.put("absent", "")
    store.put("null", "", {"department": None})
    assert [row.key for row in store.get_by("department", None).rows] == [b"null"]
    assert store.get("absent").named == {}
    assert store.get("null").named == {"department": None}


@pytest.mark.spec("S-10", "S-17")
def test_a_look_up_by_an_undeclared_key_names_the_nearest(store):
    for strict in (False, True):
        with pytest.raises(Refused, match="did you mean department"):
            store.get_by("departmnt", "eng", strict=strict)


@ONE_FILE
@pytest.mark.spec("S-11")
def test_a_strict_read_of_a_manual_store_has_nothing_to_wait_for(store):
    store.put("k", "v", {"department": "eng"})
    assert store.get("k", strict=True, wait_ms=0).payload == b"v"
    assert len(store.get_by("department", "eng", strict=True, wait_ms=0).rows) == 1


@pytest.fixture
def lagging(engine, client) -> StateStore:
    """A feed-sourced store over 500 records, none of them materialised when it is defined."""
    engine.execute(DefineFeed(name="events"))
    records = [FeedRecord(key=f"{i:03}".encode(), payload=b"%d" % i, metadata={"pp": f"P{i}"}) for i in range(500)]
    engine.execute(AppendRecords(feed="events", records=records))
    spec = StateStore.named("tagged").add_key("passport", unique=True, extractor=Extractor.metadata("pp"))
    return client.state_stores.define(spec, source="events")


@pytest.mark.spec("S-11")
@pytest.mark.parametrize("command", ["get", "get_by"])
def test_a_strict_read_helps_the_store_to_catch_up(lagging, command):
    if command == "get":
        answer = lagging.get("499", strict=True, wait_ms=60_000)
        assert answer.payload == b"499"
    else:
        answer = lagging.get_by("passport", "P499", strict=True, wait_ms=60_000)
        assert [row.payload for row in answer.rows] == [b"499"]
    assert answer.freshness.behind == 0
    assert answer.freshness.applied_seq == answer.freshness.committed_seq


@pytest.fixture
def behind(still: LocalEngine) -> LocalEngine:
    """An engine with a store over two appends, of which housekeeping has not materialised any."""
    still.execute(DefineFeed(name="events"))
    for key in (b"0", b"1"):
        still.execute(AppendRecords(feed="events", records=[FeedRecord(key=key, payload=b"", metadata={"pp": "P"})]))
    spec = StateStore.named("tagged").add_key("passport", extractor=Extractor.metadata("pp"))
    still.execute(spec.definition("events"))
    return still


@pytest.mark.spec("S-11", "S-17")
@pytest.mark.parametrize("by", ["key", "value"])
def test_a_strict_read_that_may_not_wait_is_a_conflict_that_tells_how_far_behind(behind, by):
    options = {"store": "tagged", "strict": True, "wait_ms": 0}
    strict = GetRow(key=b"1", **options) if by == "key" else GetBy(named_key="passport", value="P", **options)
    with pytest.raises(Conflict) as caught:
        behind.execute(strict)
    error = caught.value
    assert (error.status, error.reason, error.store) == (409, "index_behind", "tagged")
    assert (error.applied_seq, error.committed_seq, error.behind) == (1, 4, 3)
    assert "drop strict" in error.remedy
    behind.settle()
    assert behind.execute(strict) is not None


@pytest.mark.spec("S-11", "S-19")
def test_a_plain_read_of_a_lagging_store_answers_at_once_and_honestly(behind):
    look_up = GetBy(store="tagged", named_key="passport", value="P")
    assert behind.execute(look_up) == StoreRows([], Freshness(1, 4, 3, "embedded"))
    description = behind.execute(DescribeStateStore(name="tagged"))
    assert (description.stage, description.applied_seq, description.behind) == ("building", 1, 3)
    behind.settle()
    found = behind.execute(look_up)
    assert ([row.key for row in found.rows], found.freshness) == ([b"0", b"1"], Freshness(4, 4, 0, "embedded"))
    assert behind.execute(DescribeStateStore(name="tagged")).stage == "active"


@pytest.mark.spec("S-11")
@pytest.mark.parametrize("wait_ms", [-1, 600_001])
def test_a_wait_outside_its_limits_is_refused(store, wait_ms):
    with pytest.raises(InvalidCommand, match="0 to 10m"):
        store.get("k", strict=True, wait_ms=wait_ms)


@pytest.mark.spec("S-09", "S-17")
def test_reads_and_mutations_in_one_call_come_back_in_order_each_with_its_own_fate(store, engine):
    results = engine.execute_many(
        [
            GetRow(store=store.name, key=b"k"),
            PutRow(store=store.name, key=b"k", payload=b"1"),
            PutRow(store=store.name, key=b"k", named={"nope": 1}),
            GetRow(store=store.name, key=b"k"),
            GetRow(store="missing", key=b"k"),
            PutRow(store=store.name, key=b"k", payload=b"2"),
            GetRow(store=store.name, key=b"k"),
        ]
    )
    assert results[0] is None
    assert [isinstance(result, DexError) for result in results] == [False, False, True, False, True, False, False]
    assert (results[3].payload, results[6].payload) == (b"1", b"2")
    assert results[5].seq > results[1].seq


def test_nothing_in_nothing_out(engine):
    assert engine.execute_many([]) == []


@pytest.mark.spec("S-17")
def test_a_busy_file_is_the_error_of_each_mutation_and_the_reads_beside_them_are_answered(open_engine):
    engine = open_engine(timeout=0.02)
    engine.execute_many([DefineStateStore(name="s"), PutRow(store="s", key=b"k", payload=b"1")])
    with closing(sqlite3.connect(engine.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        read, put = GetRow(store="s", key=b"k"), PutRow(store="s", key=b"k", payload=b"2")
        results = engine.execute_many([put, read, put, put])
    assert [isinstance(result, Unavailable) for result in results] == [True, False, True, True]
    assert results[1].payload == b"1"
    assert "other processes held it for 0.02 s" in str(results[0])
    assert results[0].remedy
    assert engine.execute(put).replaced
