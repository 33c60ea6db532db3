"""Unique claims: who wins a value, who loses it, and when it is free again."""

import pytest

from dex.engine.client import Client
from dex.engine.statestore import StateStore
from dex.wcl.commands import DeleteRow, PutRow
from dex.wcl.errors import Conflict


@pytest.fixture
def store(client: Client) -> StateStore:
    spec = StateStore.named("accounts.employees").add_key("passport", unique=True).add_key("badge", unique=True)
    return client.state_stores.define(spec)


@pytest.mark.spec("S-06", "S-17")
def test_the_loser_gets_a_conflict_that_names_store_key_and_holder(store):
    store.put("holder", "", {"passport": "P1"})
    store.put("loser", "old")
    with pytest.raises(Conflict) as caught:
        store.put("loser", "new", {"passport": "P1"})
    error = caught.value
    assert (error.status, error.reason) == (409, "unique")
    assert (error.store, error.named_key, error.value, error.holder) == (
        "accounts.employees", "passport", "P1", "holder",
    )  # fmt: skip
    for fact in ("accounts.employees", "passport", "P1", "holder"):
        assert fact in str(error)
    assert error.remedy
    assert store.get("loser").payload == b"old"


@pytest.mark.spec("S-06")
def test_the_first_commit_in_journal_order_wins_within_one_batch_too(store, engine):
    results = engine.execute_many(
        [PutRow(store=store.name, key=f"k{i}".encode(), named={"passport": "P1"}) for i in range(3)]
    )
    assert not isinstance(results[0], Conflict)
    assert [result.holder for result in results[1:]] == ["k0", "k0"]


@pytest.mark.spec("S-06")
def test_the_holder_may_be_put_again_and_keeps_its_value(store):
    store.put("holder", "1", {"passport": "P1"})
    store.put("holder", "2", {"passport": "P1"})
    assert [row.payload for row in store.get_by("passport", "P1").rows] == [b"2"]


@pytest.mark.spec("S-06")
@pytest.mark.parametrize("freed_by", ["delete", "other value", "no value", "null"])
def test_deleting_or_changing_the_holder_frees_the_value(store, freed_by):
    store.put("holder", "", {"passport": "P1"})
    if freed_by == "delete":
        store.delete("holder")
    else:
        store.put(
            "holder", "", {"other value": {"passport": "P2"}, "no value": {}, "null": {"passport": None}}[freed_by]
        )
    store.put("next", "", {"passport": "P1"})
    assert [row.key for row in store.get_by("passport", "P1").rows] == [b"next"]


@pytest.mark.spec("S-06")
def test_null_is_never_a_claim_and_no_look_up_finds_it(store):
    """Case 26."""
    store.put("a", "", {"passport": None})
    store.put("b", "", {"passport": None})
    assert store.get_by("passport", None).rows == []
    assert store.get("a").named == store.get("b").named == {"passport": None}


@pytest.mark.spec("S-06")
def test_a_row_that_loses_one_of_two_claims_takes_neither(store):
    store.put("holder", "", {"badge": 7})
    with pytest.raises(Conflict):
        store.put("loser", "", {"passport": "P1", "badge": 7})
    assert store.get("loser") is None
    store.put("third", "", {"passport": "P1"})


@pytest.mark.spec("S-06")
def test_values_may_be_exchanged_by_way_of_a_delete_in_one_batch(store, engine):
    store.put("a", "", {"passport": "A"})
    store.put("b", "", {"passport": "B"})
    results = engine.execute_many(
        [
            DeleteRow(store=store.name, key=b"a"),
            PutRow(store=store.name, key=b"b", named={"passport": "A"}),
            PutRow(store=store.name, key=b"a", named={"passport": "B"}),
        ]
    )
    assert not any(isinstance(result, Conflict) for result in results)
    assert store.get("b").named == {"passport": "A"}
    assert store.get("a").named == {"passport": "B"}


@pytest.mark.spec("S-03", "S-06")
@pytest.mark.parametrize("holder_key", [b"\xff\x00", b"plain"])
def test_the_holder_is_told_losslessly(store, holder_key):
    store.put(holder_key, "", {"passport": b"\xfe"})
    with pytest.raises(Conflict) as caught:
        store.put("loser", "", {"passport": b"\xfe"})
    assert caught.value.value == {"bytes": "/g=="}
    assert caught.value.holder == ("plain" if holder_key == b"plain" else {"bytes": "/wA="})
