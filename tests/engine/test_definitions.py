"""Definitions of stores and feeds: made once, found again, never changed by a second DEFINE."""

import pytest

from dex.wcl.commands import (
    AppendRecords,
    DefineFeed,
    DefineStateStore,
    DescribeFeed,
    DescribeStateStore,
    DropFeed,
    FeedRecord,
    FromFeed,
    GetBy,
    NamedKey,
    PutRow,
    RebuildStateStore,
    RecordKey,
    ShowFeeds,
    ShowStateStores,
)
from dex.wcl.errors import Conflict, InvalidCommand, Refused

NAME = "accounts.employees"
KEYS = [NamedKey("department"), NamedKey("passport", unique=True)]
DEFINE = DefineStateStore(name=NAME, named_keys=KEYS)


@pytest.mark.spec("W-01", "S-19")
def test_a_definition_is_told_back_with_keys_stage_source_and_times(engine, clock):
    result = engine.execute(DEFINE)
    assert (result.status, result.note, result.store.keys) == ("created", None, KEYS)
    clock.advance(5)
    engine.execute(PutRow(store=NAME, key=b"k", payload=b"12345", named={"department": "eng", "passport": None}))
    described = engine.execute(DescribeStateStore(name=NAME))
    assert (described.name, described.stage, described.keys) == (NAME, "active", KEYS)
    assert (described.rows, described.postings, described.bytes) == (1, 2, 6)
    assert (described.applied_seq, described.committed_seq, described.behind) == (result.seq + 1, result.seq + 1, 0)
    assert described.created_at == described.updated_at == "2023-11-14T22:13:20.000Z"


@pytest.mark.spec("W-05")
@pytest.mark.parametrize("if_not_exists", [False, True])
def test_the_same_declaration_again_is_unchanged(engine, if_not_exists):
    created = engine.execute(DEFINE)
    again = engine.execute(DefineStateStore(name=NAME, named_keys=KEYS, if_not_exists=if_not_exists))
    assert (again.status, again.note, again.seq) == ("unchanged", None, created.seq)


@pytest.mark.spec("W-05")
@pytest.mark.parametrize(
    "keys",
    [
        [],
        [NamedKey("department")],
        [*KEYS, NamedKey("more")],
        [NamedKey("department", unique=True), NamedKey("passport", unique=True)],
        list(reversed(KEYS)),
    ],
)
@pytest.mark.parametrize("if_not_exists", [False, True])
def test_other_keys_change_nothing_and_say_so(engine, keys, if_not_exists):
    engine.execute(DEFINE)
    again = engine.execute(DefineStateStore(name=NAME, named_keys=keys, if_not_exists=if_not_exists))
    assert again.status == "unchanged"
    assert "department, passport UNIQUE" in again.note
    assert again.store.keys == KEYS
    assert engine.execute(DescribeStateStore(name=NAME)).keys == KEYS
    for key in keys:
        if key.name == "more":
            with pytest.raises(Refused):
                engine.execute(GetBy(store=NAME, named_key="more", value=1))


@pytest.mark.spec("W-05", "S-17")
def test_another_source_is_a_conflict_unless_if_not_exists_asks_for_no_more_than_existence(engine):
    engine.execute(DefineFeed(name="events"))
    engine.execute(DEFINE)
    over = DefineStateStore(name="over", source=FromFeed("events"))
    engine.execute(over)
    swapped = [DefineStateStore(name=NAME, source=FromFeed("events")), DefineStateStore(name="over")]
    for command in swapped:
        with pytest.raises(Conflict) as caught:
            engine.execute(command)
        assert (caught.value.status, caught.value.reason, caught.value.name) == (409, "source", command.name)
        lenient = DefineStateStore(name=command.name, source=command.source, if_not_exists=True)
        assert "another source" in engine.execute(lenient).note
    other = DefineStateStore(name="over", source=FromFeed("others"))
    with pytest.raises(Conflict, match="events"):
        engine.execute(other)
    assert engine.execute(over).note is None


@pytest.mark.spec("W-11", "F-02", "S-17")
def test_a_store_over_a_feed_that_does_not_exist_is_refused_with_the_nearest_name(engine):
    engine.execute(DefineFeed(name="accounts.events"))
    with pytest.raises(Refused, match=r"no feed 'accounts\.event'; did you mean accounts\.events\?"):
        engine.execute(DefineStateStore(name="s", source=FromFeed("accounts.event")))
    assert engine.execute(ShowStateStores()) == []


@pytest.mark.spec("S-18", "S-17")
def test_a_store_that_does_not_exist_is_refused_with_the_nearest_live_name(engine):
    engine.execute(DEFINE)
    with pytest.raises(Refused, match=r"no store 'accounts\.employes'; did you mean accounts\.employees\?") as caught:
        engine.execute(PutRow(store="accounts.employes", key=b"k"))
    assert caught.value.reason == "unknown_store"
    with pytest.raises(Refused, match="SHOW STATESTORES lists"):
        engine.execute(PutRow(store="zzz", key=b"k"))


@pytest.mark.spec("W-03", "W-11")
def test_show_lists_live_stores_and_feeds_by_name(engine):
    for name in ("b.feed", "a.feed", "c.feed"):
        engine.execute(DefineFeed(name=name))
    for name, feed in (("z", "a.feed"), ("y", "a.feed"), ("x", None)):
        engine.execute(DefineStateStore(name=name, source=FromFeed(feed)) if feed else DefineStateStore(name=name))
    engine.execute(DropFeed(name="c.feed"))
    assert [store.name for store in engine.execute(ShowStateStores())] == ["x", "y", "z"]
    assert [(feed.name, feed.stores) for feed in engine.execute(ShowFeeds())] == [
        ("a.feed", ["y", "z"]),
        ("b.feed", []),
    ]


@pytest.mark.spec("W-07", "S-16")
@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([f"k{i}" for i in range(11)], "11 named keys are declared, and 10 is the limit.*'k10'"),
        (["a", "b", "a"], "'a' is declared twice"),
        (["a", ""], "cannot be blank"),
        (["a", " \t"], "cannot be blank"),
    ],
)
def test_the_declaration_contract_is_the_same_by_every_door(client, names, said):
    from dex.engine.statestore import StateStore

    def by_wcl():
        client.wcl(f"DEFINE STATESTORE s KEYS {', '.join(_quote(name) for name in names)}")

    def by_command():
        client.commands([{"command": "define_state_store", "name": "s", "named_keys": [{"name": n} for n in names]}])

    def by_sdk():
        spec = StateStore.named("s")
        for name in names:
            spec.add_key(name)

    messages = set()
    for door in (by_wcl, by_command, by_sdk):
        with pytest.raises(InvalidCommand, match=said) as caught:
            door()
        assert isinstance(caught.value, ValueError)
        messages.add(str(caught.value))
    assert len(messages) == 1
    assert "10 keys with distinct names" in messages.pop()
    assert client.state_stores.list() == []


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.spec("W-07")
def test_ten_keys_all_work(engine):
    keys = [NamedKey(f"k{i}", unique=i % 2 == 0) for i in range(10)]
    engine.execute(DefineStateStore(name="s", named_keys=keys))
    engine.execute(PutRow(store="s", key=b"k", named={key.name: i for i, key in enumerate(keys)}))
    for i, key in enumerate(keys):
        assert len(engine.execute(GetBy(store="s", named_key=key.name, value=i)).rows) == 1


@pytest.mark.spec("W-11", "F-01", "W-05")
def test_a_feed_is_defined_once_and_its_dropped_name_stays_taken(engine):
    assert engine.execute(DefineFeed(name="events")).status == "created"
    assert engine.execute(DefineFeed(name="events")).status == "unchanged"
    assert engine.execute(DropFeed(name="events")).status == "dropped"
    assert engine.execute(DropFeed(name="events", if_exists=True)).status == "unchanged"
    for command in (
        DefineFeed(name="events"),
        DefineFeed(name="events", if_not_exists=True),
        DropFeed(name="events"),
        AppendRecords(feed="events", records=[FeedRecord(key=b"k")]),
        DefineStateStore(name="s", source=FromFeed("events")),
    ):
        with pytest.raises(Refused, match="'events' was dropped"):
            engine.execute(command)
    assert engine.execute(DescribeFeed(name="events")).stage == "dropped"


@pytest.mark.spec("W-11", "S-17")
def test_a_feed_is_not_dropped_from_under_its_stores(engine):
    engine.execute(DefineFeed(name="events"))
    for name in ("b", "a"):
        engine.execute(DefineStateStore(name=name, source=FromFeed("events")))
    with pytest.raises(Refused, match="materialised by a, b; drop these stores first"):
        engine.execute(DropFeed(name="events"))
    assert engine.execute(AppendRecords(feed="events", records=[FeedRecord(key=b"k")])).seq == 1


@pytest.mark.spec("S-18", "S-14")
def test_stores_and_feeds_have_names_of_their_own(engine):
    engine.execute(DefineFeed(name="same"))
    engine.execute(
        DefineStateStore(name="same", source=FromFeed("same"), named_keys=[NamedKey("k", extractor=RecordKey())])
    )
    with pytest.raises(Refused, match="no feed 'other'"):
        engine.execute(DescribeFeed(name="other"))
    with pytest.raises(Refused, match="no store 'other'"):
        engine.execute(RebuildStateStore(name="other"))


@pytest.mark.spec("W-04", "S-18")
@pytest.mark.parametrize("name", ["eu:orders", "a b.c", "SELECT", "x'; DROP TABLE stores; --", "naïve.日本", "a" * 255])
def test_names_of_any_text_are_only_names(engine, name):
    engine.execute(DefineStateStore(name=name, named_keys=[NamedKey(name, unique=True)]))
    engine.execute(PutRow(store=name, key=b"k", named={name: "v"}))
    assert [row.key for row in engine.execute(GetBy(store=name, named_key=name, value="v")).rows] == [b"k"]
    assert engine.execute(DescribeStateStore(name=name)).keys[0].name == name


@pytest.mark.spec("W-05", "S-14")
def test_definitions_and_their_use_may_share_a_batch(engine):
    results = engine.execute_many(
        [
            DefineStateStore(name="s", named_keys=[NamedKey("k")]),
            *(PutRow(store="s", key=b"%d" % i, named={"k": i}) for i in range(20)),
            DefineStateStore(name="s"),
            DefineFeed(name="f"),
            DefineStateStore(name="over", source=FromFeed("f")),
            PutRow(store="over", key=b"k"),
        ]
    )
    first = results[0].seq
    assert [result.seq for result in results[:21]] == list(range(first, first + 21))
    assert results[21].status == "unchanged"
    assert isinstance(results[-1], Refused)
