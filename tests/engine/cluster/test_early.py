"""A node applies what it has sent alone while the journal writes it, and commits that if it is what comes next."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from dex.engine.clock import SystemClock
from dex.engine.cluster.early import Early, Ready
from dex.engine.cluster.messages import Committed
from dex.engine.cluster.placing import partition_of
from dex.engine.journal import encode_record
from dex.engine.local import LocalEngine
from dex.engine.writer import Writer
from dex.wcl.commands import DefineStateStore, PutRow
from tests.clusters import Cluster, new_cluster, running_servers
from tests.engine.cluster.conftest import check_equal, eventually, store_on

HERE = partition_of("s", 2)


def _put(seq: int, message_id: str, value: bytes, at: int = 10**13) -> Committed:
    record = encode_record(PutRow(store="s", key=b"k", payload=value))
    return Committed(seq, message_id, at, ((record, 0),), at)


@pytest.fixture
def path(data_dir: Path) -> Path:
    """A file with a store, whose last position is 1."""
    with closing(LocalEngine(data_dir)) as engine:
        engine.execute(DefineStateStore(name="s"))
        return engine.path


def _early(path: Path, work: Callable[[Early, Writer], None]) -> None:
    """Do something in the thread that applies."""

    async def run() -> None:
        writer = Writer(path, SystemClock(), 5.0, lambda: None, threading.Lock(), durable=False)
        with closing(writer):
            work(Early(writer, "journal", asyncio.get_running_loop()), writer)

    asyncio.run(run())


def _is_locked(path: Path) -> bool:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as disk:
        try:
            disk.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


def _last(path: Path) -> int:
    with closing(sqlite3.connect(path)) as disk:
        return int(disk.execute("SELECT max(seq) FROM journal").fetchone()[0])


@pytest.mark.spec("K-03", "K-06")
def test_what_was_applied_early_is_seen_once_it_has_come_and_was_committed(path: Path) -> None:
    def work(early: Early, _writer: Writer) -> None:
        early.begin(_put(2, "mine", b"v"))
        assert _is_locked(path)
        ready = early.take(_put(2, "mine", b"v"))
        assert ready is not None
        assert _last(path) == 1
        ready.held.commit()
        assert _last(path) == ready.applied.position == 2

    _early(path, work)


@pytest.mark.spec("K-03")
@pytest.mark.parametrize(
    "comes",
    [_put(2, "another's", b"v"), _put(3, "mine", b"v"), _put(2, "mine", b"v", at=10**13 - 1)],
    ids=["another message", "a later place", "an earlier time"],
)
def test_what_was_applied_early_is_undone_where_something_else_comes(path: Path, comes: Committed) -> None:
    def work(early: Early, writer: Writer) -> None:
        early.begin(_put(2, "mine", b"v"))
        assert _is_locked(path)
        assert early.take(comes) is None
        assert _last(path) == 1
        (other,) = writer.write([PutRow(store="s", key=b"other", payload=b"v")])
        assert other.seq == 2

    _early(path, work)


@pytest.mark.spec("K-03")
def test_after_a_miss_nothing_is_applied_early_for_a_while(path: Path) -> None:
    """The next would be likely to be undone as well, as two nodes write by turns."""

    def work(early: Early, _writer: Writer) -> None:
        early.begin(_put(2, "mine", b"v"))
        early.take(_put(2, "another's", b"v"))
        early.begin(_put(3, "mine", b"v"))
        assert not _is_locked(path)

    _early(path, work)


@pytest.mark.spec("K-03")
def test_nothing_is_applied_early_while_somebody_else_writes_the_file(path: Path) -> None:
    def work(early: Early, writer: Writer) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as disk:
            disk.execute("BEGIN IMMEDIATE")
            early.begin(_put(2, "mine", b"v"))
        assert early.take(_put(2, "mine", b"v")) is None
        (other,) = writer.write([PutRow(store="s", key=b"other", payload=b"v")])
        assert other.seq == 2

    _early(path, work)


@pytest.mark.spec("K-03", "K-06")
def test_a_lone_put_is_applied_early_and_seen_as_soon_as_it_is_answered(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Ready | None] = []
    take = Early.take

    def spying(early: Early, message: Committed) -> Ready | None:
        taken.append(take(early, message))
        return taken[-1]

    monkeypatch.setattr(Early, "take", spying)
    store = store_on(cluster.join("a"))
    cluster.join("b")
    for number in range(100):
        store.put("k", str(number))
        found = store.get("k")
        assert found is not None
        assert found.payload == b"%d" % number
    assert any(taken)
    check_equal(cluster)


@pytest.mark.spec("K-03", "K-04")
def test_a_node_is_not_kept_from_its_file_by_what_does_not_come() -> None:
    with (
        running_servers() as servers,
        new_cluster(servers, ("a",), settings={"partitions": 1}) as cluster,
        ThreadPoolExecutor(1) as aside,
    ):
        (part,) = cluster.nodes["a"].partitions
        store = store_on(cluster.nodes["a"])
        port = part.writer._link.nc.connected_url.port  # type: ignore[union-attr]
        others = [server for server in servers.servers if server.port != port]
        for server in others:
            server.pause()
        try:
            putting = aside.submit(store.put, "k", "v")
            eventually(lambda: part.writer.waited > 0.5)
            assert not _is_locked(part.engine.path)
        finally:
            for server in others:
                server.resume()
        putting.result(30)
        assert store.get("k") is not None
