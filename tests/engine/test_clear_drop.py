"""Clear and drop: done at once for every reader, swept afterwards in bounded passes."""

import pytest

from dex.engine.client import Client
from dex.engine.statestore import Extractor, StateStore
from dex.engine.sweep import _ROWS, sweep
from dex.wcl.commands import (
    AppendRecords,
    ClearStateStore,
    DefineFeed,
    DefineStateStore,
    DeleteRow,
    DescribeStateStore,
    DropStateStore,
    FeedRecord,
    GetBy,
    GetRow,
    NamedKey,
    PageRows,
    PutRow,
    RebuildStateStore,
)
from dex.wcl.errors import Refused
from dex.wcl.names import TEMPORARY


@pytest.fixture
def store(client: Client) -> StateStore:
    return client.state_stores.define(StateStore.named("accounts.employees").add_key("passport", unique=True))


@pytest.mark.spec("S-13")
def test_clear_is_one_position_and_may_be_repeated(store):
    seq = store.put("k", "").seq
    first, second = store.clear(), store.clear()
    assert (first.seq, first.existed) == (seq + 1, True)
    assert (second.seq, second.existed) == (seq + 2, False)
    assert store.get("k") is None
    store.put("k", "again")
    assert store.get("k").payload == b"again"


@pytest.mark.spec("S-13")
def test_a_batch_goes_on_in_the_cleared_store(store, engine):
    put = PutRow(store=store.name, key=b"k", named={"passport": "P"})
    other = PutRow(store=store.name, key=b"other", named={"passport": "P"})
    results = engine.execute_many([put, ClearStateStore(name=store.name), other])
    assert [result.seq for result in results] == [results[0].seq + i for i in range(3)]
    assert [row.key for row in store.iterate()] == [b"other"]


@pytest.mark.spec("S-13", "S-19")
def test_describe_counts_nothing_after_a_clear_and_tells_its_time(store, client, clock):
    store.put("k", "v", {"passport": "P"})
    clock.advance(1000)
    store.clear()
    description = client.state_stores.describe(store.name)
    assert (description.rows, description.postings, description.bytes) == (0, 0, 0)
    assert description.created_at == "2023-11-14T22:13:20.000Z"
    assert description.updated_at == "2023-11-14T22:13:21.000Z"


@pytest.mark.spec("S-14", "S-17")
def test_a_dropped_store_refuses_every_data_path_and_its_name_stays_taken(store, engine):
    store.put("k", "v")
    dropped = engine.execute(DropStateStore(name=store.name))
    assert (dropped.status, dropped.existed) == ("dropped", True)
    name = store.name
    for command in (
        PutRow(store=name, key=b"k"),
        DeleteRow(store=name, key=b"k"),
        ClearStateStore(name=name),
        GetRow(store=name, key=b"k"),
        GetRow(store=name, key=b"k", strict=True),
        GetBy(store=name, named_key="passport", value="P"),
        GetBy(store=name, named_key="nope", value="P"),
        PageRows(store=name),
        RebuildStateStore(name=name),
        DropStateStore(name=name),
        DefineStateStore(name=name),
        DefineStateStore(name=name, named_keys=[NamedKey("passport", unique=True)]),
        DefineStateStore(name=name, if_not_exists=True),
    ):
        with pytest.raises(Refused, match=f"{name!r} was dropped") as caught:
            engine.execute(command)
        assert caught.value.status == 400
        assert caught.value.remedy


@pytest.mark.spec("S-14", "S-19")
def test_describe_says_dropped_and_show_leaves_it_out(store, client):
    store.drop()
    description = client.state_stores.describe(store.name)
    assert (description.stage, description.rows, description.bytes) == ("dropped", 0, 0)
    assert [key.name for key in description.keys] == ["passport"]
    assert client.state_stores.list() == []


@pytest.mark.spec("S-14", "X-05")
def test_a_dropped_temporary_name_is_forgotten(client, local):
    """Its rows are swept all the same; checks of a target as often as one likes leave nothing to load."""
    events = client.feeds.define(f"{TEMPORARY}events")
    spec = StateStore.named(f"{TEMPORARY}tagged").add_key("key", extractor=Extractor.record_key())
    client.state_stores.define(spec, source=events.name)
    manual = client.state_stores.define(StateStore.named(f"{TEMPORARY}manual"))
    manual.put("k", "v")
    events.append("k", "v")
    for store in (spec.name, manual.name):
        assert client.state_stores.drop(store).status == "dropped"
    assert events.drop().existed
    local.settle()
    for table in ("stores", "feeds", "garbage", "progress"):
        assert _query(local, f"SELECT count(*) FROM {table}") == [(0,)]
    for look in (client.state_stores.describe, client.feeds.describe):
        with pytest.raises(Refused, match="there is no"):
            look(f"{TEMPORARY}events")


@pytest.mark.spec("S-14", "S-19", "F-02")
@pytest.mark.parametrize("feed_dropped", [False, True])
def test_describe_knows_a_dropped_store_over_a_feed(client, feed_dropped):
    client.wcl("DEFINE FEED events")
    spec = StateStore.named("tagged").add_key("key", extractor=Extractor.record_key())
    client.state_stores.define(spec, source="events")
    client.commands([AppendRecords(feed="events", records=[FeedRecord(key=b"k", payload=b"")])])
    client.wcl("DROP STATESTORE tagged")
    if feed_dropped:
        client.wcl("DROP FEED events")
    description = client.execute(DescribeStateStore(name="tagged"))
    assert (description.stage, description.behind, description.unique_conflicts) == ("dropped", 0, 0)
    assert description.source.feed == "events"


@pytest.mark.spec("S-14", "W-05")
def test_if_exists_forgives_a_store_that_is_not_there_and_one_that_was_dropped(store, engine):
    for name in ("never.was", store.name, store.name):
        result = engine.execute(DropStateStore(name=name, if_exists=True))
        assert result.existed is (result.status == "dropped")
    with pytest.raises(Refused, match=r"never\.was"):
        engine.execute(DropStateStore(name="never.was"))


@pytest.mark.spec("S-13", "S-14")
@pytest.mark.parametrize("end", [ClearStateStore(name="s"), DropStateStore(name="s")])
def test_what_is_left_is_swept_in_bounded_passes_down_to_the_last_page(still, end):
    """No pass deletes more than a few rows before it looks at the time; counted, not timed."""
    still.execute(DefineStateStore(name="s", named_keys=[NamedKey("k")]))
    still.execute_many([PutRow(store="s", key=f"{i}".encode(), named={"k": i}) for i in range(101)])
    still.execute(end)
    left, sizes = _sweep_steps(still)
    assert left == [*range(101 - _ROWS, 0, -_ROWS), 0]
    assert _ROWS <= 32
    assert sizes == [["rows_1_0"]] * (len(left) - 1) + [[]]
    tables = _query(still, "SELECT name FROM sqlite_master WHERE name LIKE 'rows_1_0%'")
    assert tables == []


def _sweep_steps(engine) -> tuple[list[int], list[list[str]]]:
    """Give the rows and the garbage that are left after each pass that may take no time."""
    left, garbage = [], []
    more = True
    while more:
        more = engine._writer.run(lambda connection, catalog, _head: sweep(connection, catalog, 0))
        names = [name for (name,) in _query(engine, "SELECT table_name FROM garbage")]
        garbage.append(names)
        left.append(_query(engine, f"SELECT count(*) FROM {names[0]}")[0][0] if names else 0)
    return left, garbage


def _query(engine, sql: str) -> list[tuple]:
    with engine._readers.snapshot() as snapshot:
        return snapshot.connection.execute(sql).fetchall()


@pytest.mark.spec("S-13", "S-14")
def test_the_space_of_swept_rows_is_used_again(still):
    still.execute(DefineStateStore(name="s"))
    puts = [PutRow(store="s", key=f"{i}".encode(), payload=b"x" * 1000) for i in range(500)]
    pages = []
    for _ in range(3):
        still.execute_many(puts)
        still.execute(ClearStateStore(name="s"))
        still.settle()
        pages.append(_query(still, "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count"))
    journal_pages = 500 * 1100 // 4096
    assert pages[2][0][0] - pages[1][0][0] < journal_pages * 1.5


@pytest.mark.spec("S-13")
def test_one_settling_sweeps_all_that_was_cleared(still):
    still.execute(DefineStateStore(name="s"))
    for i in range(5):
        still.execute(PutRow(store="s", key=b"%d" % i))
        still.execute(ClearStateStore(name="s"))
    passes = []
    still.settle(on_pass=lambda: passes.append(1))
    assert len(passes) == 4
    assert _query(still, "SELECT * FROM garbage") == []


@pytest.mark.spec("S-14", "F-02")
def test_dropping_a_store_that_is_being_rebuilt_discards_both_generations(still):
    still.execute(DefineFeed(name="events"))
    spec = StateStore.named("tagged").add_key("key", extractor=Extractor.record_key())
    still.execute(spec.definition("events"))
    still.execute(AppendRecords(feed="events", records=[FeedRecord(key=b"k", payload=b"")]))
    still.execute(RebuildStateStore(name="tagged"))
    still.execute(DropStateStore(name="tagged"))
    still.settle()
    assert _query(still, "SELECT name FROM sqlite_master WHERE name LIKE 'rows%'") == []
    assert _query(still, "SELECT * FROM progress") == []
