"""The journal: every mutation in order, monotone in time, trimmed by age and size, and replayable."""

import sqlite3
from contextlib import closing

import pytest

from dex.engine import journal
from dex.engine.housekeeping import Retention
from dex.engine.replay import apply_entries, replay
from dex.engine.statestore import StateStore
from dex.wcl.commands import DefineFeed, DefineStateStore, DropStateStore, FromFeed, PutRow, RebuildStateStore
from dex.wcl.errors import Refused
from tests.engine.fakes import DAY_MS
from tests.engine.state import state_of

NO_LIMIT = Retention(max_bytes=2**60, max_age_ms=2**60)


def _rows(path) -> list[tuple[int, int, int, bytes]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT seq, at, total, record FROM journal ORDER BY seq").fetchall()


def _entries(path) -> list[journal.Entry]:
    with closing(sqlite3.connect(path)) as connection:
        return list(journal.read(connection))


@pytest.mark.spec("S-01", "S-03")
def test_what_is_read_back_is_the_mutation_that_was_made(local):
    mutations = [
        DefineStateStore(name="s", named_keys=StateStore.named("s").add_key("k").definition().named_keys),
        PutRow(store="s", key=b"\x00\xff", payload=b"\xfe", named={"k": [1, True, "1", b"1", None]}, mutation_id="m"),
        PutRow(store="s", key=b"text", named={"k": b"bytes"}),
    ]
    local.execute_many(mutations)
    assert [entry.mutation for entry in _entries(local.path)] == mutations
    assert [entry.seq for entry in _entries(local.path)] == [1, 2, 3]


@pytest.mark.spec("S-01", "S-05", "S-06", "S-07")
def test_what_changes_nothing_is_not_journaled_and_positions_have_no_gaps(client, local):
    store = client.state_stores.define(StateStore.named("s").add_key("u", unique=True))
    store.put("a", "", {"u": 1}, mutation_id="m")
    client.state_stores.define(StateStore.named("s"))
    store.put("a", "", {"u": 1}, mutation_id="m")
    for refused in ({"u": 1}, {"undeclared": 1}):
        with pytest.raises(Exception, match="'s'"):
            store.put("b", "", refused)
    assert store.put("c", "").seq == 3
    assert [row[0] for row in _rows(local.path)] == [1, 2, 3]


@pytest.mark.spec("S-06", "S-07")
def test_a_lost_put_with_an_id_is_journaled_so_that_every_replay_remembers_it(client, local):
    store = client.state_stores.define(StateStore.named("s").add_key("u", unique=True))
    store.put("a", "", {"u": 1})
    for _ in range(2):
        with pytest.raises(Exception, match="unique"):
            store.put("b", "", {"u": 1}, mutation_id="m")
    assert len(_rows(local.path)) == 3


@pytest.mark.spec("S-07")
def test_time_in_the_journal_never_goes_back_whatever_the_clock_does(local, clock):
    local.execute(DefineStateStore(name="s"))
    started = clock.ms
    for step in (5, -10_000, 3, 20_000):
        clock.advance(step)
        local.execute(PutRow(store="s", key=b"k"))
    times = [at - started for _, at, _, _ in _rows(local.path)]
    assert times == [0, 5, 5, 5, 10_008]


@pytest.mark.spec("S-07")
def test_a_clock_that_went_back_before_a_restart_does_not_take_the_journal_with_it(open_engine, clock):
    first = open_engine()
    first.execute(DefineStateStore(name="s"))
    first.close()
    clock.advance(-DAY_MS)
    second = open_engine()
    second.execute(PutRow(store="s", key=b"k"))
    assert len({at for _, at, _, _ in _rows(second.path)}) == 1


def _filled(open_engine, retention: Retention, count: int, payload: bytes = b""):
    engine = open_engine(retention=retention)
    engine._housekeeping._stopping.set()
    engine.execute(DefineStateStore(name="s"))
    engine.execute_many([PutRow(store="s", key=b"%d" % i, payload=payload) for i in range(count - 1)])
    return engine


def _trim_once(engine, retention: Retention, now_ms: int) -> bool:
    return engine._writer.run(lambda connection, _catalog, _head: journal.trim(connection, now_ms, *retention))


@pytest.mark.spec("S-13")
def test_records_beyond_their_age_go_in_passes_of_500_and_the_last_stays(open_engine, clock):
    retention = Retention(max_bytes=2**60, max_age_ms=7 * DAY_MS)
    engine = _filled(open_engine, retention, 1201)
    at_the_edge = clock.ms + 7 * DAY_MS
    assert not _trim_once(engine, retention, at_the_edge)
    assert len(_rows(engine.path)) == 1201
    left, more = [], True
    while more:
        more = _trim_once(engine, retention, at_the_edge + 1)
        left.append(len(_rows(engine.path)))
    assert left == [701, 201, 1]
    assert _rows(engine.path)[0][0] == 1201
    assert engine.execute(PutRow(store="s", key=b"next")).seq == 1202


@pytest.mark.spec("S-13")
def test_a_record_goes_once_as_many_bytes_came_after_it(open_engine, clock):
    retention = Retention(max_bytes=100_000, max_age_ms=2**60)
    engine = _filled(open_engine, retention, 1201, payload=b"x" * 1000)
    left, more = [], True
    while more:
        more = _trim_once(engine, retention, clock.ms)
        left.append(len(_rows(engine.path)))
    rows = _rows(engine.path)
    assert left[:2] == [701, 201]
    after_the_first = sum(len(record) for *_, record in rows[1:])
    assert after_the_first < 100_000 <= after_the_first + len(rows[0][3])


@pytest.mark.spec("S-13", "S-07")
def test_settling_trims_and_state_does_not_depend_on_the_trimmed_records(open_engine, clock):
    retention = Retention(max_age_ms=DAY_MS)
    engine = _filled(open_engine, retention, 600)
    engine.execute(PutRow(store="s", key=b"once", payload=b"1", mutation_id="m"))
    clock.advance(2 * DAY_MS)
    engine.settle()
    assert len(_rows(engine.path)) == 1
    assert engine.execute(PutRow(store="s", key=b"once", payload=b"1", mutation_id="m")).replayed
    engine.close()
    reopened = open_engine()
    assert reopened.execute(PutRow(store="s", key=b"again")).seq == 602


@pytest.mark.spec("S-01")
def test_the_running_total_is_the_bytes_of_all_records_whichever_way_they_came(local):
    local.execute(DefineStateStore(name="s"))
    puts = [PutRow(store="s", key=b"%d" % i, payload=b"x" * i) for i in range(40)]
    local.execute_many(puts)
    local.execute_many(puts[:3])
    local.execute(puts[0])
    total = 0
    for _, _, sum_, record in _rows(local.path):
        total += len(record)
        assert sum_ == total


@pytest.mark.spec("S-01", "S-07")
def test_a_replay_gives_the_same_journal_and_state(client, local, open_engine, data_dir):
    store = client.state_stores.define(StateStore.named("s").add_key("u", unique=True))
    client.engine.execute_many([PutRow(store="s", key=b"%d" % i, named={"u": i}) for i in range(700)])
    store.put("a", "", {"u": "x"}, mutation_id="m")
    store.clear()
    store.put("b", "")
    local.settle()
    assert replay(local.path, data_dir / "copy") == 704
    copy = open_engine(data_dir / "copy")
    copy.settle()
    assert _rows(copy.path) == _rows(local.path)
    assert state_of(copy.path) == state_of(local.path)
    assert copy.execute(PutRow(store="s", key=b"a", named={"u": "x"}, mutation_id="m")).replayed


@pytest.mark.spec("S-17")
def test_a_replay_without_its_beginning_or_onto_a_journal_is_refused(open_engine, clock, data_dir):
    engine = _filled(open_engine, Retention(max_age_ms=DAY_MS), 20)
    with pytest.raises(Refused, match="has a journal already"):
        replay(engine.path, data_dir)
    clock.advance(2 * DAY_MS)
    engine.settle()
    with pytest.raises(Refused, match=r"entry 20 .* the next position is 1"):
        replay(engine.path, data_dir / "copy")
    assert _rows(data_dir / "copy" / "dex.db") == []


@pytest.mark.spec("S-17")
def test_an_entry_that_does_not_fit_is_refused(open_engine, data_dir):
    engine = _filled(open_engine, NO_LIMIT, 3)
    copy = open_engine(data_dir / "copy")
    copy.execute(DefineStateStore(name="other"))
    (_, put, _) = _entries(engine.path)
    with closing(sqlite3.connect(copy.path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(Refused, match=r"entry 2 .* there is no store 's'"):
            apply_entries(connection, [put])
        connection.execute("ROLLBACK")


@pytest.mark.spec("F-07", "S-14")
@pytest.mark.parametrize("settled", [False, True])
def test_dropping_a_store_leaves_the_same_whether_or_not_its_rebuild_was_done(still, open_engine, data_dir, settled):
    still.execute(DefineFeed(name="f"))
    still.execute_many([DefineStateStore(name="s", source=FromFeed("f")), RebuildStateStore(name="s")])
    if settled:
        still.settle()
    still.execute(DropStateStore(name="s"))
    still.settle()
    replay(still.path, data_dir / "copy")
    copy = open_engine(data_dir / "copy")
    copy.settle()
    assert state_of(copy.path) == state_of(still.path)
