"""A client of several endpoints, and nodes that end under it: nothing acknowledged is lost, nothing is done twice."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from dex.engine.client import Client
from dex.engine.cluster.placing import partition_of
from dex.engine.cluster.servers import JournalServers
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.samples.chunked_subscribers import CURRENT, FLOW_ID, ChunkedSubscribers, Subscriber
from dex.wcl.commands import (
    MAX_PAGE,
    AppendRecords,
    DefineFeed,
    DefineStateStore,
    FeedRecord,
    PageRecords,
    PageRows,
    PutRow,
)
from dex.wcl.errors import DexError, Unavailable
from tests.clusterprocesses import PATIENCE, NodeProcess, ProcessCluster, process_cluster, wait_for

_FEEDS = ("f0", "f1", "f2", "f3")
"""Enough names to be in both partitions."""


@pytest.fixture
def cluster(journal_servers: JournalServers) -> Iterator[ProcessCluster]:
    with process_cluster(journal_servers) as found:
        for name in found.nodes:
            found.wait_until_owned(name)
        yield found


@pytest.fixture
def spread_cluster(journal_servers: JournalServers) -> Iterator[ProcessCluster]:
    """One with a partition more than nodes."""
    with process_cluster(journal_servers, partitions=4) as found:
        yield found


class _Worker:
    """Does something again and again in a thread, on a client whose first endpoint is one node's.

    `work` gets the engine and a number; `done` are the results that it gave, and `failed` the errors it raised.
    """

    def __init__(self, cluster: ProcessCluster, first: str, work: Callable[[RemoteEngine, int], object]) -> None:
        names = [first, *(name for name in cluster.nodes if name != first)]
        self._engine = RemoteEngine(
            parse_endpoints(",".join(cluster[name].url for name in names)), timeout=PATIENCE, own_ids=True
        )
        self._work = work
        self._stop = threading.Event()
        self.done: list[Any] = []
        self.failed: list[DexError] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        for number in count():
            if self._stop.is_set():
                return
            try:
                self.done.append(self._work(self._engine, number))
            except DexError as error:
                self.failed.append(error)

    def wait_until(self, more: int) -> None:
        """Wait until so many more are done."""
        before = len(self.done)
        wait_for(lambda: len(self.done) >= before + more, "progress", lambda: str(self.failed))

    def stop(self) -> None:
        """Finish what is under way."""
        self._stop.set()
        self._thread.join()
        self._engine.close()


@contextmanager
def _interrupted(cluster: ProcessCluster, first: str, works: Sequence[Any], end: Callable[[], object]) -> Iterator[Any]:
    """Give workers that went on before and after something that ended their first node."""
    workers = [_Worker(cluster, first, work) for work in works]
    try:
        for worker in workers:
            worker.wait_until(5)
        end()
        for worker in workers:
            worker.wait_until(5)
    finally:
        for worker in workers:
            worker.stop()
    yield workers


def _write(feed: str) -> Callable[[RemoteEngine, int], bytes]:
    def work(engine: RemoteEngine, number: int) -> bytes:
        key = f"{feed}-{number}".encode()
        engine.execute(AppendRecords(feed=feed, records=[FeedRecord(key=key, payload=b"")]))
        engine.execute(PutRow(store="rows", key=key))
        return key

    return work


@pytest.mark.spec("K-03", "K-07", "S-07")
def test_a_node_is_killed_under_load_and_its_clients_go_on_at_another(cluster: ProcessCluster) -> None:
    """No write fails, each is there in the end, and none is there twice."""
    with cluster["b"].engine() as engine:
        engine.execute(DefineStateStore(name="rows"))
        for feed in _FEEDS:
            engine.execute(DefineFeed(name=feed))
    with _interrupted(cluster, "a", [_write(feed) for feed in _FEEDS], cluster["a"].kill) as workers:
        assert [worker.failed for worker in workers] == [[]] * len(_FEEDS)
        written = sorted(key for worker in workers for key in worker.done)
    cluster.wait_until_caught_up("b", "c")
    for name in ("b", "c"):
        with cluster[name].engine() as engine:
            pages = [engine.execute(PageRecords(feed=feed, limit=MAX_PAGE)) for feed in _FEEDS]
            rows = engine.execute(PageRows(store="rows", limit=MAX_PAGE)).rows
        assert sorted(record.key for page in pages for record in page.records) == written
        assert [row.key for row in rows] == written


@pytest.mark.spec("K-05", "K-07", "C-02")
@pytest.mark.parametrize("way", ["kill", "stop"])
def test_the_owner_of_a_flow_ends_under_calls_and_no_update_is_lost_or_made_twice(
    cluster: ProcessCluster, way: str
) -> None:
    """Registrations go through a lock: each that was acknowledged has its own number, and is there once.

    A call whose connection ended with its owner may have been carried out, which its error says; nobody repeats it.
    """
    with cluster["a"].engine() as engine:
        ChunkedSubscribers(Client(engine)).run.start()
    owner = cluster.owner(partition_of(FLOW_ID, 2), "a")
    assert owner is not None
    end = getattr(cluster[owner], way)
    with _interrupted(cluster, owner, [_register(who) for who in range(3)], end) as workers:
        failed = [error for worker in workers for error in worker.failed]
    assert all(type(error) is Unavailable and error.applied == "unknown" for error in failed)
    _check_registered(cluster[next(name for name in cluster.nodes if name != owner)], workers)


@pytest.mark.spec("K-05", "K-07", "C-02")
def test_nodes_that_come_get_partitions_under_calls_and_each_call_is_made_once(
    spread_cluster: ProcessCluster,
) -> None:
    """The one that had all hands over the Flow's partition, too; no call fails for it."""
    cluster = spread_cluster
    for name in ("b", "c"):
        cluster[name].stop()
    assert set(cluster.wait_until_owned("a")) == {"a"}
    with cluster["a"].engine() as engine:
        ChunkedSubscribers(Client(engine)).run.start()

    def come() -> None:
        for name in ("b", "c"):
            cluster[name].start().wait_until_ready()
        wait_for(
            lambda: set(cluster.wait_until_owned("a")) == {"a", "b", "c"}, "a partition for each", cluster["a"].log
        )

    with _interrupted(cluster, "a", [_register(who) for who in range(2)], come) as workers:
        assert [worker.failed for worker in workers] == [[], []]
    assert cluster.owner(partition_of(FLOW_ID, 4), "a") != "a"
    _check_registered(cluster["b"], workers)


def _register(who: int) -> Callable[[RemoteEngine, int], Subscriber]:
    return lambda engine, number: ChunkedSubscribers(Client(engine)).register(f"{who}-{number}", "here")


def _check_registered(node: NodeProcess, workers: Sequence[_Worker]) -> None:
    """See that each registration that was acknowledged is there once, and no more than were tried."""
    acknowledged = [registered for worker in workers for registered in worker.done]
    failed = [error for worker in workers for error in worker.failed]
    with node.engine() as engine:
        there = _subscribers(ChunkedSubscribers(Client(engine)))
    assert [subscriber.sequence for subscriber in there] == list(range(1, len(there) + 1))
    assert len({subscriber.subscriber_id for subscriber in there}) == len(there)
    assert len(there) <= len(acknowledged) + len(failed)
    assert all(there[registered.sequence - 1] == registered for registered in acknowledged)


def _subscribers(subscribers: ChunkedSubscribers) -> list[Subscriber]:
    """Read all pages, and give the oldest first."""
    found: list[Subscriber] = []
    token: str | None = CURRENT
    while token is not None:
        page = subscribers.page(token)
        found += page.subscribers
        token = page.next_page_token
    return found[::-1]
