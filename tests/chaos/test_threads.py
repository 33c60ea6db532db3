"""Many threads in one process: shared commits, each answer right, and readers that never see a half."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from dex.engine.client import Client, connect
from dex.wcl.commands import ClearStateStore, DefineStateStore, DropStateStore, NamedKey, PutRow
from dex.wcl.errors import Conflict, DexError, Refused

THREADS = 16


@pytest.fixture
def client(data_dir):
    with connect(data_dir) as client:
        client.execute(DefineStateStore(name="s", named_keys=[NamedKey("u", unique=True), NamedKey("g")]))
        yield client


def _together(*calls: Callable[[], Any]) -> list[Any]:
    """Run each call in a thread, all at once, and give what came of them; an error is given too."""
    results: list[Any] = [None] * len(calls)
    start = threading.Barrier(len(calls))

    def run(index: int, call: Callable[[], Any]) -> None:
        start.wait()
        try:
            results[index] = call()
        except BaseException as error:  # noqa: BLE001  # looked at by the test
            results[index] = error

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return results


@pytest.mark.spec("S-01", "S-05", "S-06", "S-07")
def test_16_threads_share_commits_and_each_gets_its_own_results(client):
    """Each thread writes rows of its own, one undeclared key, one claim that all want, one id used twice."""
    store = client.state_store("s")

    def work(who: int) -> list[Any]:
        done: list[Any] = []
        for number in range(25):
            done.append(store.put(f"{who}-{number}", f"{who}", {"g": who}))
            if number == 12:
                for attempt in ({"wrong": 1}, {"u": "wanted"}):
                    try:
                        done.append(store.put(f"{who}-special", "", attempt))
                    except DexError as error:
                        done.append(error)
                done.append(store.put(f"{who}-once", "", mutation_id=f"{who}"))
                done.append(store.put(f"{who}-once", "", mutation_id=f"{who}"))
        return done

    results = _together(*[lambda who=who: work(who) for who in range(THREADS)])
    seqs, won = [], 0
    for who, done in enumerate(results):
        refused, claim, first, again = done[13:17]
        written = [*done[:13], first, *done[17:]]
        assert isinstance(refused, Refused)
        assert (again.replayed, again.seq) == (True, first.seq)
        if isinstance(claim, Conflict):
            assert claim.reason == "unique"
        else:
            written.append(claim)
            won += 1
        assert not any(result.replaced for result in written)
        own = [result.seq for result in written[:13]]
        assert own == sorted(own)
        seqs += [result.seq for result in written]
        assert len(store.get_by("g", who).rows) == 25
    assert won == 1
    assert sorted(seqs) == list(range(2, 2 + len(seqs)))


@pytest.mark.spec("S-01", "S-10")
def test_a_reader_sees_all_rows_of_a_commit_or_none(client):
    """Each batch moves one row per thread to the same value; a look-up by the value finds none or all."""
    batches = [[PutRow(store="s", key=b"%d" % i, named={"g": number}) for i in range(20)] for number in range(60)]
    done = threading.Event()

    def write() -> None:
        for batch in batches:
            client.engine.execute_many(batch)
        done.set()

    def read() -> set[int]:
        sizes = set()
        while not done.is_set():
            for number in range(0, 60, 7):
                sizes.add(len(client.state_store("s").get_by("g", number).rows))
        return sizes

    _, *sizes = _together(write, read, read, read)
    for seen in sizes:
        assert seen <= {0, 20}


def _fill(client: Client, rows: int) -> None:
    for start in range(0, rows, 1000):
        client.engine.execute_many(
            [PutRow(store="s", key=b"%06d" % i, payload=b"x" * 50, named={"g": i}) for i in range(start, start + 1000)]
        )


@pytest.mark.spec("S-13", "S-14")
@pytest.mark.parametrize("end", [ClearStateStore(name="s"), DropStateStore(name="s")])
def test_a_big_store_is_gone_at_once_while_others_put_and_is_swept_to_nothing(client, data_dir, end):
    """The clear itself changes few rows, however many there are; housekeeping is kept for afterwards to count that."""
    client.engine._housekeeping._stopping.set()
    _fill(client, 10_000)
    other = client.state_stores.define(client.state_store("s").named("other"))
    ended = threading.Event()

    def put() -> int:
        count = 0
        while not ended.is_set() or count < 50:
            other.put(f"{count}", "")
            count += 1
        return count

    def clear() -> list[int]:
        connection = client.engine._writer._connection
        before = connection.total_changes
        client.execute(end)
        changed = connection.total_changes - before
        left = [_left(client), _left_elsewhere(data_dir)]
        client.engine.settle()
        ended.set()
        return [changed, *left]

    count, (changed, *left) = _together(put, clear)
    assert left == [0, 0]
    assert changed < 1000
    assert len(list(other.iterate())) == count
    with client.engine._readers.snapshot() as snapshot:
        assert snapshot.connection.execute("SELECT count(*) FROM garbage").fetchone() == (0,)
        assert snapshot.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'rows_1_0'").fetchone() is None


def _left(client: Client) -> int:
    try:
        return len(client.state_store("s").page().rows) + len(client.state_store("s").get_by("g", 7).rows)
    except Refused as error:
        return 0 if error.reason == "dropped" else -1


def _left_elsewhere(data_dir) -> int:
    with connect(data_dir) as other:
        return _left(other)


@pytest.mark.spec("S-12", "S-13")
def test_readers_go_on_while_other_tables_are_swept(client):
    _fill(client, 3000)
    store = client.state_store("s")
    keep = client.state_stores.define(store.named("keep").add_key("g"))
    for i in range(50):
        keep.put(f"{i:02}", "", {"g": i % 5})
    store.clear()
    done = threading.Event()

    def sweep() -> None:
        client.engine.settle()
        _fill(client, 2000)
        store.clear()
        client.engine.settle()
        done.set()

    def read() -> int:
        rounds = 0
        while not done.is_set():
            assert len(list(keep.iterate())) == 50
            assert len(keep.get_by("g", 3).rows) == 10
            assert store.get("2999") is None
            rounds += 1
        return rounds

    results = _together(sweep, read, read, read)
    assert results[0] is None
    assert all(isinstance(result, int) for result in results[1:])


@pytest.mark.spec("S-17")
def test_closing_under_way_ends_in_answers_or_unavailable(client):
    store = client.state_store("s")

    def use() -> BaseException | None:
        for number in range(10_000):
            try:
                store.put("k", f"{number}")
                store.get("k")
                list(store.iterate())
            except DexError as error:
                return error
        return None

    results = _together(*[use] * 6, client.close)
    assert [getattr(error, "kind", None) for error in results[:6]] == ["unavailable"] * 6
    assert results[6] is None
