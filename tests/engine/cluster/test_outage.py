"""What a caller is told while nothing can be committed, or while a node hangs: within the time that it gave."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from dex.engine.cluster.placing import partition_of
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.wcl.commands import AppendRecords, Command, DefineFeed, DefineStateStore, FeedRecord, GetRow, PutRow
from dex.wcl.commands.flows import DescribeFlow, GetAttributes, StartFlow, StopFlow, WaitForFlow
from dex.wcl.errors import Conflict, Unavailable
from tests.clusterprocesses import ProcessCluster, process_cluster, wait_for
from tests.clusters import running_servers

_PATTERN = "ChunkedSubscriberFlow"


@contextmanager
def _engine(cluster: ProcessCluster, timeout: float) -> Iterator[RemoteEngine]:
    engine = RemoteEngine(parse_endpoints(cluster.endpoint), timeout=timeout, own_ids=True)
    try:
        yield engine
    finally:
        engine.close()


@pytest.fixture(scope="module")
def outage() -> Iterator[ProcessCluster]:
    """Two nodes that have a store, a feed and a Flow, and whose journal has lost two of three servers."""
    with running_servers() as servers, process_cluster(servers, ("a", "b")) as cluster:
        cluster.wait_until_owned("a")
        with cluster["a"].engine() as engine:
            engine.execute(DefineStateStore(name="people"))
            engine.execute(DefineFeed(name="events"))
            engine.execute(StartFlow(type=_PATTERN, flow_id="f"))
        cluster.wait_until_caught_up("a", "b")
        for server in servers.servers[:2]:
            server.kill()
        yield cluster


_FREE = (PutRow(store="people", key=b"k"), AppendRecords(feed="events", records=[FeedRecord(key=b"k")]))


@pytest.mark.spec("K-04", "X-03")
@pytest.mark.parametrize("command", _FREE, ids=lambda command: type(command).__name__)
@pytest.mark.parametrize("timeout", [1.5, 4.0])
def test_a_write_without_a_quorum_is_told_of_the_journal_within_its_time(
    outage: ProcessCluster, command: Command[object], timeout: float
) -> None:
    """However short the time is, and whichever nodes are asked; it may be committed yet."""
    with (
        _engine(outage, timeout) as engine,
        pytest.raises(Unavailable, match=r"the journal (of partition [01] )?takes no writes: fewer than two") as caught,
    ):
        engine.execute(command)
    assert caught.value.applied == "unknown"


@pytest.mark.spec("K-04", "K-05")
@pytest.mark.parametrize(
    "command", [DescribeFlow(flow_id="f"), GetAttributes(flow_id="f")], ids=lambda c: type(c).__name__
)
def test_a_flow_that_nobody_can_own_is_told_of_with_the_journal(
    outage: ProcessCluster, command: Command[object]
) -> None:
    """What other nodes could tell of it may be out of date, and would not say so."""

    def told() -> bool:
        with _engine(outage, 20.0) as engine:
            try:
                engine.execute(command)
            except Unavailable as error:
                return "has no owner" in error.message and "journal takes no writes" in error.message
            return False

    wait_for(told, "the owner to end", outage["a"].log)


@pytest.mark.spec("K-04", "X-03")
def test_a_node_without_a_quorum_is_not_ready_and_says_why(outage: ProcessCluster) -> None:
    def told() -> bool:
        answer = httpx.get(f"{outage['a'].url}/readyz", timeout=30, trust_env=False)
        return answer.status_code == 503 and "takes no write" in answer.text

    wait_for(told, "the node to name the journal")


@pytest.mark.spec("K-04", "S-11")
def test_a_strict_read_without_a_quorum_says_why_the_node_does_not_catch_up(outage: ProcessCluster) -> None:
    with _engine(outage, 20.0) as engine, pytest.raises(Conflict, match=r"has not caught up.*journal") as caught:
        engine.execute(GetRow(store="people", key=b"k", strict=True, wait_ms=1500))
    assert caught.value.reason == "index_behind"


@pytest.mark.spec("K-07", "X-01")
def test_a_node_that_hangs_is_passed_by_within_the_time(journal_servers) -> None:
    """For what may be repeated and for what may not, whichever node is first."""
    with process_cluster(journal_servers, ("a", "b"), lease_seconds=2.0) as cluster:
        cluster.wait_until_owned("b")
        with cluster["b"].engine() as engine:
            engine.execute(DefineStateStore(name="people"))
        cluster["a"].send(signal.SIGSTOP)
        wait_for(lambda: set(cluster.wait_until_owned("b")) == {"b"}, "the other node to own all")
        try:
            with _engine(cluster, 2.0) as engine:
                engine.execute(PutRow(store="people", key=b"k"))
                assert engine.execute(GetRow(store="people", key=b"k")) is not None
            with _engine(cluster, 2.0) as engine:
                engine.execute(DefineFeed(name="new"))
        finally:
            cluster["a"].send(signal.SIGCONT)


@pytest.mark.spec("K-05", "K-07", "X-01", "FL-10")
def test_who_waits_at_an_owner_that_hung_is_served_by_the_next(journal_servers) -> None:
    """A write is given up, as it is not known whether it was applied; a long poll goes on elsewhere."""
    with process_cluster(journal_servers, ("a", "b"), lease_seconds=2.0) as cluster:
        cluster.wait_until_owned("a")
        owner = cluster.owner(partition_of("list", 2), "a")
        asked = "b" if owner == "a" else "a"
        with cluster[asked].engine() as engine, ThreadPoolExecutor(1) as aside:
            engine.execute(StartFlow(flow_id="list", type=_PATTERN))
            waiting = aside.submit(engine.execute, WaitForFlow(flow_id="list", wait_ms=600_000))
            cluster[owner].send(signal.SIGSTOP)
            try:
                with pytest.raises(Unavailable, match=f"node {owner} has not answered, and another one") as caught:
                    engine.execute(StopFlow(flow_id="list", reason="in vain"))
                engine.execute(StopFlow(flow_id="list", reason="over"))
                assert waiting.result(60).error == "over"
            finally:
                cluster[owner].send(signal.SIGCONT)
        assert caught.value.applied == "unknown"
