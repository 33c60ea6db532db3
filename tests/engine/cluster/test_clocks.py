"""A node whose clock is wrong: it moves the journal's time, and with it that of all nodes, by no more than a minute."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from dex import Client, StartFlowOptions, graceful_complete
from dex.engine.clock import SystemClock
from dex.engine.cluster import journalclock
from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.journalclock import JournalClock
from dex.engine.cluster.placing import partition_of
from dex.engine.cluster.servers import JournalServers
from dex.engine.flows.registry import Registry
from dex.wcl.commands import DefineStateStore, PutRow
from dex.wcl.commands.cluster import ShowCluster
from tests.clusterprocesses import wait_for
from tests.clusters import Cluster, catch_up, new_cluster
from tests.engine.cluster.conftest import check_equal
from tests.engine.fakes import DAY_MS, FakeClock
from tests.engine.flows.runtime.desk import Desk, Do

_MINUTE_MS = 60_000


class _Off(SystemClock):
    """The machine's clock, wrong by some days."""

    def __init__(self, days: int) -> None:
        self._ms = days * DAY_MS

    def now_ms(self) -> int:
        return super().now_ms() + self._ms


@pytest.fixture
def ran() -> list[str]:
    """What the Steps of Flows were given."""
    return []


@pytest.fixture
def flow(ran: list[str]) -> Desk:
    """A Flow whose Step tells what it was given."""

    def go(_context: Any, given: str) -> Any:
        ran.append(given)
        return graceful_complete()

    return Desk(Do("Go", go))


@pytest.fixture
def cluster(journal_servers: JournalServers, flow: Desk) -> Iterator[Cluster]:
    registry = Registry()
    registry.register(flow)
    with new_cluster(journal_servers, ("a",), registry=lambda: registry) as cluster:
        yield cluster


def _put(node: ClusterEngine, key: bytes) -> bool:
    return node.execute(PutRow(store="s", key=key, mutation_id=key.decode())).replayed


def _times(node: ClusterEngine) -> list[int]:
    """Give the times in ms of what is in the journals of a node's files."""
    found: list[int] = []
    for part in node.partitions:
        with closing(sqlite3.connect(part.engine.path)) as connection:
            found += [at for (at,) in connection.execute("SELECT at FROM journal")]
    return found


@pytest.mark.spec("S-07", "K-03")
def test_a_clock_that_is_ahead_moves_the_journals_time_by_a_minute_on_every_node(cluster: Cluster) -> None:
    """A mutation id is kept for 30 days of the journal's time: it is not forgotten, and all files are the same."""
    right = cluster.nodes["a"]
    right.execute(DefineStateStore(name="s"))
    assert not _put(right, b"first")
    wrong = cluster.join("b", clock=_Off(40))
    _put(wrong, b"second")
    catch_up([right, wrong], right)
    assert _put(right, b"first")
    assert max(_times(right)) <= time.time_ns() // 1_000_000 + _MINUTE_MS
    check_equal(cluster)


@pytest.mark.spec("FL-01", "K-05")
def test_an_owner_whose_clock_is_ahead_runs_nothing_early(cluster: Cluster, flow: Desk, ran: list[str]) -> None:
    """It goes by the journal's time; what is due is run."""
    first = cluster.nodes["a"]
    number = partition_of("d", 2)
    later = next(name for name in map(str, range(100)) if partition_of(name, 2) == number)
    Client(first).start_flow(flow, later, "later", StartFlowOptions(start_delay=timedelta(days=1)))
    second = cluster.join("b", clock=_Off(40))
    first.ownership.drain(30)
    wait_for(lambda: second.ownership.owns(number), "the second owner")
    Client(second).start_flow(flow, "d", "now")
    Client(second).wait_for_flow("d")
    assert ran == ["now"]


@pytest.mark.spec("K-09")
@pytest.mark.parametrize(("days", "where"), [(40, "ahead of"), (-40, "behind")])
def test_a_node_whose_clock_is_wrong_says_so_once(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, days: int, where: str
) -> None:
    """With what to do about it."""
    cluster.nodes["a"].execute(DefineStateStore(name="s"))
    wrong = cluster.join("b", clock=_Off(days))
    for number in range(5):
        _put(wrong, str(number).encode())
    (told,) = [record.getMessage() for record in caplog.records if "clock" in record.getMessage()]
    assert f"{where} the journal servers' clocks" in told
    assert "NTP" in told
    status = cluster.nodes["a"].execute(ShowCluster())
    assert [node.clock.rpartition(" ")[2] for node in status.nodes] == ["", where.split(maxsplit=1)[0]]


@pytest.mark.spec("K-03")
def test_a_journal_server_whose_clock_was_wrong_once_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    steady = 0
    monkeypatch.setattr(journalclock, "_steady_ms", lambda: steady)
    now = SystemClock().now_ms()
    fake = FakeClock(now)
    clock = JournalClock(fake)
    clock.heard(now, now + 60 * _MINUTE_MS)
    assert clock.off() == "clock 3600 s behind"
    for _ in range(30):
        steady += _MINUTE_MS
        fake.advance(_MINUTE_MS)
        clock.heard(fake.now_ms(), fake.now_ms())
    assert clock.off() == ""
