"""Feed-sourced stores: what each record becomes, that replay never stalls, and that a rebuild gives the same rows."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.statestore import Extractor, StateStore
from dex.wcl.commands import (
    AppendRecords,
    DefineFeed,
    DefineStateStore,
    DescribeStateStore,
    FeedRecord,
    FromFeed,
    GetBy,
    GetRow,
    Json,
    Metadata,
    NamedKey,
    PageRows,
    RebuildStateStore,
    RecordKey,
    ShowStateStores,
)
from dex.wcl.errors import Conflict, Refused
from tests.directories import fast_directory


@pytest.fixture
def client(client: Client) -> Client:
    client.execute(DefineFeed(name="accounts.events"))
    return client


def _define(client: Client, name: str = "tagged", **keys: tuple[object, bool]) -> StateStore:
    spec = StateStore.named(name)
    for key, (extractor, unique) in keys.items():
        spec.add_key(key, unique=unique, extractor=extractor)
    return client.state_stores.define(spec, source="accounts.events")


def _append(client: Client, key: bytes, payload: bytes | None = b"", **metadata: str) -> int:
    return client.execute(
        AppendRecords(feed="accounts.events", records=[FeedRecord(key=key, payload=payload, metadata=metadata)])
    ).seq


@pytest.mark.spec("F-02")
def test_committed_history_is_materialised_and_new_records_follow(client):
    for i in range(200):
        _append(client, b"old%d" % i, b"%d" % i)
    store = _define(client)
    _append(client, b"new", b"n")
    assert store.get("new", strict=True, wait_ms=60_000).payload == b"n"
    client.engine.settle()
    assert len(list(store.iterate())) == 201
    _append(client, b"newer", b"m")
    newer = store.get("newer")
    assert (newer.payload, newer.freshness.behind) == (b"m", 0)


@pytest.mark.spec("F-02")
def test_a_later_record_of_a_key_replaces_the_row_and_a_null_payload_deletes_it(client):
    store = _define(client, team=(Extractor.metadata("team"), False))
    _append(client, b"k", b"1", team="eng")
    _append(client, b"k", b"2", team="ops")
    assert store.get("k").payload == b"2"
    assert store.get_by("team", "eng").rows == []
    _append(client, b"k", None, team="ops")
    assert store.get("k") is None
    assert store.get_by("team", "ops").rows == []
    _append(client, b"k", b"")
    assert store.get("k").payload == b""


@pytest.mark.spec("F-03")
def test_the_three_extractors_read_key_metadata_and_payload(client):
    store = _define(
        client,
        key=(Extractor.record_key(), True),
        passport=(Extractor.metadata("pp"), True),
        department=(Extractor.json("team.members.1.dept"), False),
    )
    payload = json.dumps({"team": {"members": [{"dept": "a"}, {"dept": "eng"}]}}).encode()
    _append(client, b"r1", payload, pp="P1")
    _append(client, b"\xff", payload, pp="P2")
    assert store.get("r1").named == {"key": "r1", "passport": "P1", "department": "eng"}
    assert [row.key for row in store.get_by("key", b"\xff").rows] == [b"\xff"]
    assert [row.key for row in store.get_by("passport", "P2").rows] == [b"\xff"]
    assert [row.key for row in store.get_by("department", "eng").rows] == [b"r1", b"\xff"]


@pytest.mark.spec("F-03", "S-03")
@pytest.mark.parametrize(
    ("document", "path", "found"),
    [
        ({"a": 1}, "a", 1),
        ({"a": True}, "a", True),
        ({"a": "1"}, "a", "1"),
        ({"a": None}, "a", None),
        ({"a": 9007199254740993}, "a", 9007199254740993),
        ({"a": [1, "x", None]}, "a", [1, "x", None]),
        ([10, 20], "1", 20),
        ({"0": "by name"}, "0", "by name"),
        ({"a": {"b": {"c": "deep"}}}, "a.b.c", "deep"),
        ({"a": {"": 1}}, "a", None),
        ({"a": ""}, "a", ""),
    ],
)
def test_a_json_path_gives_the_value_with_its_type(client, document, path, found):
    store = _define(client, k=(Extractor.json(path), False))
    _append(client, b"r", json.dumps(document).encode())
    assert store.get("r").named == {"k": found}
    assert type(store.get("r").named["k"]) is type(found)
    assert [row.key for row in store.get_by("k", found).rows] == [b"r"]


@pytest.mark.spec("F-04")
@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b'{"a": ',
        b"{}",
        b'{"a": 1.5}',
        b'{"a": 1e400}',
        b'{"a": 9223372036854775808}',
        b'{"a": {"b": 1}}',
        b'{"a": []}',
        b'{"a": [[1]]}',
        b'{"a": "\\ud800"}',
        b'{"a": "' + b"x" * 4097 + b'"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"7",
        b'"a"',
        b"null",
        b"NaN",
    ],
    ids=lambda payload: repr(payload[:20]),
)
def test_what_cannot_be_read_is_a_null_posting_and_replay_goes_on(client, payload):
    store = _define(client, a=(Extractor.json("a"), True), m=(Extractor.metadata("absent"), True))
    _append(client, b"bad", payload)
    _append(client, b"good", b'{"a": "fine"}')
    assert store.get("bad").named == {"a": None, "m": None}
    assert store.get("bad").payload == payload
    assert [row.key for row in store.get_by("a", "fine").rows] == [b"good"]
    client.execute(RebuildStateStore(name="tagged"))
    assert store.get("bad", strict=True, wait_ms=60_000).named == {"a": None, "m": None}


@pytest.mark.spec("F-03", "F-04")
@pytest.mark.parametrize("step", ["2", "-1", "9" * 5000, "\u0661", "1.0", "x", " 1"])
def test_an_index_that_a_list_does_not_have_is_a_null_posting(client, step):
    store = _define(client, k=(Extractor.json(step), False))
    _append(client, b"r", b"[0, 1]")
    assert store.get("r").named == {"k": None}


@pytest.mark.spec("F-04")
def test_a_metadata_entry_too_long_for_a_named_value_is_a_null_posting(client):
    store = _define(client, m=(Extractor.metadata("m"), True))
    _append(client, b"r", m="x" * 5000)
    assert store.get("r").named == {"m": None}


@pytest.mark.spec("F-06", "S-19")
def test_the_first_record_keeps_a_unique_value_and_a_later_row_is_kept_without_it(client):
    store = _define(client, passport=(Extractor.metadata("pp"), True), team=(Extractor.metadata("team"), False))
    _append(client, b"first", b"1", pp="P1", team="eng")
    _append(client, b"second", b"2", pp="P1", team="eng")
    assert store.get("second").named == {"team": "eng"}
    assert [row.key for row in store.get_by("passport", "P1").rows] == [b"first"]
    assert [row.key for row in store.get_by("team", "eng").rows] == [b"first", b"second"]
    description = client.state_stores.describe("tagged")
    assert (description.unique_conflicts, description.rows, description.postings) == (1, 2, 3)


@pytest.mark.spec("F-06")
def test_a_freed_unique_value_goes_to_the_next_record_that_brings_it(client):
    store = _define(client, passport=(Extractor.metadata("pp"), True))
    _append(client, b"first", b"", pp="P1")
    _append(client, b"second", b"", pp="P1")
    _append(client, b"first", None)
    assert store.get_by("passport", "P1").rows == []
    _append(client, b"second", b"", pp="P1")
    assert [row.key for row in store.get_by("passport", "P1").rows] == [b"second"]
    _append(client, b"second", b"", pp="P1")
    assert client.state_stores.describe("tagged").unique_conflicts == 1


@pytest.mark.spec("F-05", "S-17")
def test_a_feed_is_the_only_writer_of_its_stores(client):
    store = _define(client)
    for write in (lambda: store.put("k", ""), lambda: store.delete("k"), store.clear):
        with pytest.raises(Refused, match=r"append to feed 'accounts\.events'") as caught:
            write()
        assert caught.value.reason == "feed_sourced"


@pytest.mark.spec("F-07", "S-17")
def test_only_a_feed_sourced_store_can_be_rebuilt(client):
    client.wcl("DEFINE STATESTORE manual")
    with pytest.raises(Refused, match="not feed-sourced"):
        client.execute(RebuildStateStore(name="manual"))
    assert not hasattr(StateStore, "rebuild")
    assert not hasattr(StateStore, "sync")


def _over(still: LocalEngine, records: int) -> None:
    """A store over a feed with as many records, all materialised."""
    still.execute(DefineFeed(name="events"))
    keys = [NamedKey("pp", unique=True, extractor=Metadata("pp")), NamedKey("key", extractor=RecordKey())]
    still.execute(DefineStateStore(name="s", source=FromFeed("events"), named_keys=keys))
    for i in range(records):
        _event(still, i)
    still.settle()


def _event(still: LocalEngine, i: int) -> None:
    record = FeedRecord(key=b"%d" % (i % 7), payload=b"%d" % i if i % 5 else None, metadata={"pp": f"P{i % 4}"})
    still.execute(AppendRecords(feed="events", records=[record]))


def _contents(still: LocalEngine) -> object:
    page = still.execute(PageRows(store="s"))
    description = still.execute(DescribeStateStore(name="s"))
    return [(row.key, row.payload, row.named) for row in page.rows], description.unique_conflicts


@pytest.mark.spec("F-07")
def test_readers_see_the_old_rows_until_a_rebuild_is_done_and_then_the_same_rows(still):
    _over(still, 40)
    before = _contents(still)
    assert still.execute(RebuildStateStore(name="s")).existed
    assert _contents(still) == before
    assert [store.stage for store in still.execute(ShowStateStores())] == ["building"]
    still.settle()
    assert _contents(still) == before
    assert [store.stage for store in still.execute(ShowStateStores())] == ["active"]


@pytest.mark.spec("F-07", "S-11")
def test_records_appended_during_a_rebuild_are_shown_when_it_is_done(still):
    _over(still, 40)
    still.execute(RebuildStateStore(name="s"))
    _event(still, 41)
    stale = still.execute(GetRow(store="s", key=b"6"))
    assert stale.freshness.behind > 0
    assert stale.payload != b"41"
    with pytest.raises(Conflict):
        still.execute(GetRow(store="s", key=b"6", strict=True, wait_ms=0))
    still.settle()
    assert still.execute(GetRow(store="s", key=b"6", strict=True, wait_ms=0)).payload == b"41"


@pytest.mark.spec("F-07")
def test_a_rebuild_of_a_rebuild_starts_over(still):
    _over(still, 40)
    before = _contents(still)
    for _ in range(3):
        still.execute(RebuildStateStore(name="s"))
    still.settle()
    assert _contents(still) == before
    with still._readers.snapshot() as snapshot:
        tables = snapshot.connection.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE 'rows%' AND type = 'table'"
        )
        assert len(tables.fetchall()) == 1


@pytest.mark.spec("F-02", "F-07")
def test_one_settling_catches_up_all_stores_that_lag(still):
    still.execute(DefineFeed(name="events"))
    for i in range(100):
        _event(still, i)
    still.execute_many([DefineStateStore(name=name, source=FromFeed("events")) for name in "abc"])
    still.settle()
    assert [store.stage for store in still.execute(ShowStateStores())] == ["active"] * 3


@pytest.mark.spec("F-02", "S-11")
def test_the_engine_catches_up_all_stores_by_itself(client):
    for i in range(300):
        _append(client, b"%d" % i)
    client.engine.execute_many([DefineStateStore(name=name, source=FromFeed("accounts.events")) for name in "abc"])
    for name in "abc":
        read = GetRow(store=name, key=b"299", strict=True, wait_ms=60_000)
        assert client.execute(read).freshness.behind == 0


records = st.builds(
    FeedRecord,
    key=st.sampled_from([b"a", b"b", b"c"]),
    payload=st.none() | st.sampled_from([b"", b'{"n": 1}', b'{"n": 2}', b'{"n": "1"}', b"{"]),
    metadata=st.dictionaries(st.just("pp"), st.sampled_from(["P", "Q"])),
)
KEYS = [
    NamedKey("pp", unique=True, extractor=Metadata("pp")),
    NamedKey("n", unique=True, extractor=Json("n")),
    NamedKey("key", extractor=RecordKey()),
]


@pytest.mark.spec("F-02", "F-04", "F-06", "F-07")
@settings(max_examples=30, deadline=None, database=None)
@given(batches=st.lists(st.lists(records, min_size=1, max_size=5), max_size=8), at=st.integers(0, 8))
def test_rows_are_a_function_of_the_feed_however_they_came_about(batches, at):
    """A store from the start, one defined in the middle, one rebuilt: the same rows and the same conflicts."""
    with fast_directory() as directory:
        engine = LocalEngine(directory)
        engine.execute(DefineFeed(name="events"))
        early, late, built = (
            DefineStateStore(name=name, source=FromFeed("events"), named_keys=KEYS)
            for name in ("early", "late", "built")
        )
        engine.execute_many([early, built])
        for number, batch in enumerate(batches):
            if number == at:
                engine.execute_many([late, RebuildStateStore(name="built")])
            engine.execute(AppendRecords(feed="events", records=batch))
        engine.execute(late)
        engine.execute(RebuildStateStore(name="built"))
        engine.settle()
        found = []
        for name in ("early", "late", "built"):
            page = engine.execute(PageRows(store=name))
            conflicts = engine.execute(DescribeStateStore(name=name)).unique_conflicts
            by_value = [engine.execute(GetBy(store=name, named_key="pp", value=value)).rows for value in "PQ"]
            found.append(([(row.key, row.payload, row.named) for row in page.rows], conflicts, by_value))
        engine.close()
    assert found[0] == found[1] == found[2]
