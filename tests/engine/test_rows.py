"""Rows: what a put stores, what a get gives back, and what neither accepts."""

import enum

import pytest

from dex.engine.client import Client
from dex.engine.statestore import StateStore
from dex.wcl.commands import AppendRecords, DefineFeed, FeedRecord, PutRow
from dex.wcl.errors import InvalidCommand, Refused
from dex.wcl.values import I64_MAX, I64_MIN, MAX_KEY_BYTES, MAX_PAYLOAD_BYTES
from tests.engine.conftest import ONE_FILE


@pytest.fixture
def store(client: Client) -> StateStore:
    spec = StateStore.named("accounts.employees").add_key("department").add_key("passport", unique=True)
    return client.state_stores.define(spec)


@pytest.mark.spec("S-01")
def test_a_put_replaces_the_whole_row_its_named_values_included(store):
    store.put("k", "first", {"department": "eng", "passport": "P1"})
    assert store.put("k", "second", {"department": "ops"}).replaced
    row = store.get("k")
    assert (row.payload, row.named) == (b"second", {"department": "ops"})
    assert store.get_by("department", "eng").rows == []
    assert store.get_by("passport", "P1").rows == []


@pytest.mark.spec("S-01")
def test_each_put_is_one_position_of_the_journal(store):
    first = store.put("a", "")
    second = store.put("a", "")
    assert second.seq == first.seq + 1
    assert (first.replaced, second.replaced) == (False, True)


@pytest.mark.spec("S-02")
@pytest.mark.parametrize(
    ("key", "payload", "stored"),
    [
        (b"k", b"p", (b"k", b"p")),
        ("kä", "pö", ("kä".encode(), "pö".encode())),
        (bytearray(b"k"), memoryview(b"p"), (b"k", b"p")),
        (b"a\0b", b"\x00\xff", (b"a\0b", b"\x00\xff")),
        (b"k", b"", (b"k", b"")),
        (b"x" * MAX_KEY_BYTES, b"y" * MAX_PAYLOAD_BYTES, (b"x" * MAX_KEY_BYTES, b"y" * MAX_PAYLOAD_BYTES)),
    ],
)
def test_keys_and_payloads_are_bytes_or_text_as_utf8_and_come_back_byte_for_byte(store, key, payload, stored):
    """Case 28 among them."""
    store.put(key, payload)
    row = store.get(key)
    assert (row.key, row.payload) == stored
    assert [(row.key, row.payload) for row in store.iterate()] == [stored]


@pytest.mark.spec("S-02")
@pytest.mark.parametrize(
    ("key", "payload", "said"),
    [
        (b"", b"", "cannot be empty"),
        ("", "", "cannot be empty"),
        (b"x" * (MAX_KEY_BYTES + 1), b"", "4096"),
        ("ä" * 2049, "", "4096"),
        (b"k", b"x" * (MAX_PAYLOAD_BYTES + 1), "1048576"),
        ("\ud800", "", "surrogate"),
        (7, b"", "bytes or text, not int"),
        (b"k", None, "bytes or text, not NoneType"),
    ],
)
def test_a_key_or_payload_outside_its_limits_is_refused_with_the_limit(store, key, payload, said):
    with pytest.raises(InvalidCommand, match=said):
        store.put(key, payload)
    assert list(store.iterate()) == []


@pytest.mark.spec("S-03")
def test_one_true_text_and_bytes_of_one_are_four_values(store):
    values = [1, True, "1", b"1"]
    for index, value in enumerate(values):
        store.put(f"k{index}", "", {"department": value, "passport": value})
    for name in ("department", "passport"):
        for index, value in enumerate(values):
            (row,) = store.get_by(name, value).rows
            assert row.key == f"k{index}".encode()
            assert row.named[name] == value
            assert type(row.named[name]) is type(value)


@pytest.mark.spec("S-03")
@pytest.mark.parametrize(
    "value",
    [0, -1, False, "", "\0", "a\0b", b"", b"\x00", b"\x01\x01", b"\x03", I64_MIN, I64_MAX, 2**53 + 1, "日本", None],
    ids=repr,
)
def test_a_named_value_comes_back_as_the_value_and_type_it_was(store, value):
    """Case 19's integer and the engine's own tags for bools, null and lists are among them."""
    store.put("k", "", {"department": value})
    found = store.get("k").named["department"]
    assert found == value
    assert type(found) is type(value)
    assert [row.key for row in store.get_by("department", value).rows] == [b"k"]


@pytest.mark.spec("S-03")
@pytest.mark.parametrize("value", [I64_MAX + 1, I64_MIN - 1, 1.0, float("nan"), {"a": 1}, "\ud800", "x" * 4097])
def test_a_value_that_no_named_key_can_hold_is_refused(store, value):
    with pytest.raises(InvalidCommand, match="department"):
        store.put("k", "", {"department": value})
    with pytest.raises(InvalidCommand, match="department"):
        store.get_by("department", value)
    assert store.get("k") is None


class _Team(enum.StrEnum):
    ENG = "eng"


class _Level(enum.IntEnum):
    THREE = 3


@pytest.mark.spec("S-03")
@pytest.mark.parametrize(("given", "plain"), [(_Team.ENG, "eng"), (_Level.THREE, 3)])
def test_subclasses_of_text_and_integers_count_as_their_plain_value(store, given, plain):
    store.put("k", "", {"department": given})
    for value in (given, plain):
        assert [row.named for row in store.get_by("department", value).rows] == [{"department": plain}]
    store.put("k", "", {"department": [given]})
    assert [row.named for row in store.get_by("department", [plain]).rows] == [{"department": [plain]}]


@pytest.mark.spec("S-04")
def test_a_list_is_one_composite_value_with_typed_components(store):
    store.put("k", "", {"department": ["eng", 3], "passport": ["P", None, True]})
    assert store.get("k").named == {"department": ["eng", 3], "passport": ["P", None, True]}
    assert [row.key for row in store.get_by("department", ["eng", 3]).rows] == [b"k"]
    assert [row.key for row in store.get_by("department", ("eng", 3)).rows] == [b"k"]
    assert [row.key for row in store.get_by("passport", ["P", None, True]).rows] == [b"k"]
    for other in (["eng"], ["eng", "3"], ["eng", True], ["eng", 3, None], "eng", [3, "eng"], [b"eng", 3]):
        assert store.get_by("department", other).rows == []


@pytest.mark.spec("S-04")
@pytest.mark.parametrize("value", [[], [["nested"]], [1.5], ["x" * 4000, "y" * 97]])
def test_an_empty_nested_or_over_long_composite_is_refused(store, value):
    with pytest.raises(InvalidCommand, match="department"):
        store.put("k", "", {"department": value})


@pytest.mark.spec("S-05", "S-17")
def test_an_undeclared_key_is_refused_by_name_with_the_declared_ones_and_nothing_is_written(store):
    """Case 31."""
    store.put("k", "old")
    with pytest.raises(Refused) as caught:
        store.put("k", "new", {"departement": "eng", "passport": "P1"})
    assert caught.value.status == 400
    assert caught.value.named_key == "departement"
    assert caught.value.declared == ["department", "passport"]
    text = str(caught.value)
    assert "'departement'" in text
    assert "did you mean department?" in text
    assert "department, passport" in text
    assert "\n" not in text
    assert store.get("k").payload == b"old"
    assert not store.put("k2", "", {"passport": "P1"}).replaced


@pytest.mark.spec("S-05")
def test_a_store_without_keys_says_that_it_declares_none(client):
    bare = client.state_stores.define(StateStore.named("bare"))
    with pytest.raises(Refused, match="declares none"):
        bare.put("k", "", {"department": "eng"})
    with pytest.raises(Refused, match="declares none"):
        bare.get_by("department", "eng")


@pytest.mark.spec("S-08")
def test_deleting_a_missing_row_succeeds_and_says_it_was_not_there(store):
    store.put("k", "v")
    first, second = store.delete("k"), store.delete("k")
    assert (first.existed, second.existed) == (True, False)
    assert second.seq == first.seq + 1


@pytest.mark.spec("S-08", "S-13")
@pytest.mark.parametrize("emptied_by", ["delete", "clear"])
def test_after_delete_or_clear_no_read_finds_the_row_and_its_unique_value_is_free(store, emptied_by):
    """Case 27."""
    store.put("k", "v", {"department": "eng", "passport": "P1"})
    if emptied_by == "delete":
        store.delete("k")
    else:
        store.clear()
    assert store.get("k") is None
    assert store.get_by("department", "eng").rows == []
    assert store.get_by("passport", "P1").rows == []
    assert list(store.iterate()) == []
    assert store.page().rows == []
    assert not store.put("other", "v", {"passport": "P1"}).replaced


@pytest.mark.spec("S-02", "S-03")
@pytest.mark.parametrize("key", ["text", None, 5])
def test_a_typed_command_made_with_a_key_that_is_not_bytes_is_refused(client, store, key):
    """Stored as text it would be a second row beside the same key in bytes."""
    with pytest.raises(InvalidCommand, match="key"):
        client.execute(PutRow(store=store.name, key=key))
    with pytest.raises(InvalidCommand, match="payload"):
        client.execute(PutRow(store=store.name, key=b"k", payload=key))


@ONE_FILE
@pytest.mark.spec("S-01")
def test_a_put_says_replaced_whatever_else_its_commit_inserts(store, engine):
    """Records of a feed are inserted under positions of their own, which may equal the journal's."""
    engine.execute(DefineFeed(name="events"))
    seq = store.put("k", "").seq
    records = [FeedRecord(key=b"r", payload=b"")] * (seq + 2)
    _, put = engine.execute_many(
        [AppendRecords(feed="events", records=records), PutRow(store=store.name, key=b"k", payload=b"")]
    )
    assert put.seq == seq + 2
    assert put.replaced


@pytest.mark.spec("S-17")
def test_a_name_that_is_no_text_is_refused_alone(store, engine):
    puts = [PutRow(store=store.name, key=f"{i}".encode()) for i in range(20)]
    wrong = [PutRow(store="\ud800", key=b"k"), PutRow(store=store.name, key=b"k", named={"\ud800": 1})]
    results = engine.execute_many([*puts[:3], *wrong, *puts[3:]])
    assert [index for index, result in enumerate(results) if isinstance(result, Refused)] == [3, 4]
    assert len(store.page().rows) == 20
