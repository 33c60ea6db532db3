"""Mutation ids: the first outcome again for the same contents, a conflict for others, for 30 days."""

from uuid import uuid4

import pytest

from dex.engine.client import Client
from dex.engine.outcomes import RETENTION_MS
from dex.engine.statestore import StateStore
from dex.wcl.commands import AppendRecords, ClearStateStore, DefineFeed, DeleteRow, FeedRecord, PutRow, RowWritten
from dex.wcl.errors import Conflict, InvalidCommand, Refused


@pytest.fixture
def store(client: Client) -> StateStore:
    spec = StateStore.named("accounts.employees").add_key("passport", unique=True).add_key("department")
    return client.state_stores.define(spec)


def _reason(call, *args, **options) -> str:
    with pytest.raises(Conflict) as caught:
        call(*args, **options)
    assert caught.value.status == 409
    assert caught.value.remedy
    return caught.value.reason


@pytest.mark.spec("S-07")
def test_the_same_id_and_contents_give_the_first_outcome_marked_as_a_replay(store):
    """Case 30."""
    mutation = uuid4()
    first = store.put("k", "v", {"department": "eng"}, mutation_id=mutation)
    later = store.put("k", "later")
    again = store.put("k", "v", {"department": "eng"}, mutation_id=mutation)
    assert (first.replayed, again.replayed) == (False, True)
    assert (again.seq, again.replaced) == (first.seq, first.replaced)
    assert store.get("k").payload == b"later"
    assert again.freshness.committed_seq >= later.seq


@pytest.mark.spec("S-07", "S-17")
@pytest.mark.parametrize(
    "other",
    [("k", "x", {}), ("k2", "v", {}), ("k", "v", {"department": "eng"}), ("k", "v", {"department": None})],
)
def test_the_same_id_with_other_contents_is_a_conflict_and_the_row_stays(store, other):
    """Case 30."""
    store.put("k", "v", mutation_id="m")
    assert _reason(store.put, *other, mutation_id="m") == "mutation_id"
    assert [(row.key, row.payload, row.named) for row in store.iterate()] == [(b"k", b"v", {})]


@pytest.mark.spec("S-03", "S-07")
@pytest.mark.parametrize("other", [True, "1", b"1", [1]])
def test_contents_are_compared_with_their_types(store, other):
    store.put("k", "v", {"department": 1}, mutation_id="m")
    assert _reason(store.put, "k", "v", {"department": other}, mutation_id="m") == "mutation_id"


@pytest.mark.spec("S-07")
def test_the_order_of_named_values_is_not_part_of_the_contents(store):
    store.put("k", "v", {"department": "eng", "passport": "P1"}, mutation_id="m")
    assert store.put("k", "v", {"passport": "P1", "department": "eng"}, mutation_id="m").replayed


@pytest.mark.spec("S-07")
def test_a_put_that_lost_a_unique_claim_stays_lost_when_the_value_is_free(store):
    store.put("holder", "", {"passport": "P1"})
    assert _reason(store.put, "loser", "", {"passport": "P1"}, mutation_id="m") == "unique"
    store.delete("holder")
    with pytest.raises(Conflict) as again:
        store.put("loser", "", {"passport": "P1"}, mutation_id="m")
    assert (again.value.reason, again.value.holder, again.value.named_key) == ("unique", "holder", "passport")
    assert store.get("loser") is None
    store.put("loser", "", {"passport": "P1"}, mutation_id="fresh")


@pytest.mark.spec("S-07")
def test_a_refused_put_uses_up_no_id(store):
    with pytest.raises(Refused):
        store.put("k", "v", {"undeclared": 1}, mutation_id="m")
    assert not store.put("k", "v", mutation_id="m").replayed


@pytest.mark.spec("S-07", "S-08", "S-13")
def test_deletes_and_clears_are_replayed_too(store):
    store.put("k", "v")
    assert store.delete("k", mutation_id="d").existed
    store.put("k", "v2")
    again = store.delete("k", mutation_id="d")
    assert (again.existed, again.replayed) == (True, True)
    assert store.get("k").payload == b"v2"
    assert store.clear(mutation_id="c").existed
    store.put("k", "v3")
    again = store.clear(mutation_id="c")
    assert (again.existed, again.replayed) == (True, True)
    assert store.get("k").payload == b"v3"


@pytest.mark.spec("S-07", "F-01")
def test_appends_are_replayed_too(engine):
    engine.execute(DefineFeed(name="events"))
    append = AppendRecords(feed="events", records=[FeedRecord(key=b"a"), FeedRecord(key=b"b")], mutation_id="m")
    first, again = engine.execute(append), engine.execute(append)
    assert (again.first_seq, again.seq, again.replayed) == (first.first_seq, first.seq, True)
    fewer = AppendRecords(feed="events", records=[FeedRecord(key=b"a")], mutation_id="m")
    assert _reason(engine.execute, fewer) == "mutation_id"


@pytest.mark.spec("S-07")
def test_one_id_is_one_mutation_of_a_store_whatever_its_kind(store, engine, client):
    """Another store has ids of its own."""
    store.put("k", "v", mutation_id="m")
    assert _reason(store.delete, "k", mutation_id="m") == "mutation_id"
    assert _reason(store.clear, mutation_id="m") == "mutation_id"
    other = client.state_stores.define(StateStore.named("other"))
    assert not other.put("k", "x", mutation_id="m").replayed


@pytest.mark.spec("S-07")
def test_the_same_id_twice_in_one_batch_writes_once(store, engine):
    put = PutRow(store=store.name, key=b"k", payload=b"v", mutation_id="m")
    other = PutRow(store=store.name, key=b"k", payload=b"x", mutation_id="m")
    first, second, third = engine.execute_many([put, put, other])
    assert (first.replayed, second.replayed, second.seq) == (False, True, first.seq)
    assert third.reason == "mutation_id"
    assert store.get("k").payload == b"v"


@pytest.mark.spec("S-07")
def test_outcomes_outlive_the_engine_that_gave_them(open_engine):
    """Case 30, after a restart."""
    first = open_engine()
    client = Client(first)
    store = client.state_stores.define(StateStore.named("s").add_key("u", unique=True))
    seq = store.put("holder", "", {"u": 1}, mutation_id="m").seq
    assert _reason(store.put, "loser", "", {"u": 1}, mutation_id="lost") == "unique"
    first.close()
    store = Client(open_engine()).state_store("s")
    assert store.put("holder", "", {"u": 1}, mutation_id="m").seq == seq
    assert _reason(store.put, "holder", "x", mutation_id="m") == "mutation_id"
    store.delete("holder")
    assert _reason(store.put, "loser", "", {"u": 1}, mutation_id="lost") == "unique"


@pytest.mark.spec("S-07")
@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize(("age_ms", "replayed"), [(RETENTION_MS - 1, True), (RETENTION_MS, False)])
def test_an_outcome_counts_for_exactly_30_days_swept_or_not(local, clock, age_ms, replayed, swept):
    store = Client(local).state_stores.define(StateStore.named("s"))
    put = PutRow(store="s", key=b"k", payload=b"v", mutation_id="m")
    store.put("k", "v", mutation_id="m")
    clock.advance(age_ms)
    if swept:
        store.put("other", "")  # brings the journal's time forward, which is what the sweep goes by
        local.settle()
    assert local.execute(put).replayed is replayed
    assert local.execute(put).replayed is True


@pytest.mark.spec("S-07")
def test_an_id_counts_30_days_from_its_last_use_as_new(store, engine, clock):
    store.put("k", "v", mutation_id="m")
    clock.advance(RETENTION_MS)
    assert not store.put("k", "other", mutation_id="m").replayed
    clock.advance(RETENTION_MS - 1)
    assert _reason(store.put, "k", "v", mutation_id="m") == "mutation_id"


@pytest.mark.spec("S-07")
def test_setting_the_machines_clock_back_does_not_bring_an_outcome_back(store, clock):
    store.put("k", "v", mutation_id="m")
    clock.advance(RETENTION_MS)
    store.put("other", "")
    clock.advance(-RETENTION_MS)
    assert not store.put("k", "v", mutation_id="m").replayed


@pytest.mark.spec("S-07", "S-17")
@pytest.mark.parametrize("mutation_id", ["", "x" * 129, "\ud800"])
def test_an_id_that_is_empty_or_over_long_or_no_text_is_refused(store, mutation_id):
    with pytest.raises(InvalidCommand, match=r"mutation id|name or id"):
        store.put("k", "v", mutation_id=mutation_id)
    assert store.get("k") is None


@pytest.mark.spec("S-07")
def test_a_mutation_with_an_id_is_refused_where_its_store_is_gone(store, engine):
    store.put("k", "v", mutation_id="m")
    store.drop()
    for command in (
        PutRow(store=store.name, key=b"k", payload=b"v", mutation_id="m"),
        DeleteRow(store="nobody", key=b"k", mutation_id="m"),
        ClearStateStore(name="nobody", mutation_id="m"),
        AppendRecords(feed="nobody", records=[FeedRecord(key=b"k")], mutation_id="m"),
    ):
        with pytest.raises(Refused):
            engine.execute(command)


@pytest.mark.spec("S-07")
def test_many_puts_with_ids_in_one_batch_are_each_remembered(store, engine):
    puts = [PutRow(store=store.name, key=f"{i}".encode(), mutation_id=f"m{i}") for i in range(40)]
    first, again = engine.execute_many(puts), engine.execute_many(puts)
    assert all(isinstance(result, RowWritten) and not result.replayed for result in first)
    assert [(result.seq, result.replayed) for result in again] == [(result.seq, True) for result in first]
