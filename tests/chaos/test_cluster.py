"""A real cluster while its processes end, hang, come back and lose their disks, one after the other.

A fault is followed by its end and by everybody's recovery, as more than one lost journal server at a time is more than
a cluster stands. The seed tells which faults there are; DEX_CHAOS_SECONDS makes a long run of it, with a seed of its
own that is told.
"""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from dex.engine.cluster.servers import JournalServer, JournalServers, is_healthy
from tests.chaos.clusterload import Load
from tests.clusterprocesses import NODES, NodeProcess, ProcessCluster, process_cluster, wait_for
from tests.clusters import running_servers
from tests.engine.state import state_of

_SECONDS = float(os.environ.get("DEX_CHAOS_SECONDS", "20"))
_IS_LONG = "DEX_CHAOS_SECONDS" in os.environ
_SEEDS = [20240229, int(time.time())] if _IS_LONG else [20240229]

Fault = Callable[["_Chaos", random.Random], None]


class _Chaos:
    """A cluster and what breaks it."""

    def __init__(self, cluster: ProcessCluster, servers: JournalServers) -> None:
        self.cluster = cluster
        self.servers = servers
        self.faults: list[str] = []

    def node(self, chance: random.Random) -> NodeProcess:
        return self.cluster[chance.choice(NODES)]

    def server(self, chance: random.Random) -> JournalServer:
        return chance.choice(self.servers.servers)

    def recover(self) -> None:
        """Wait until all answer again."""
        for server in self.servers.servers:
            wait_for(lambda server=server: is_healthy(server), f"{server.name} to be healthy")
        for node in self.cluster.nodes.values():
            node.wait_until_ready()
        self.cluster.wait_until_caught_up(*NODES)


def _node_crashes(chaos: _Chaos, chance: random.Random) -> None:
    node = chaos.node(chance)
    node.kill()
    time.sleep(chance.random() * 3)
    node.start()


def _node_stops(chaos: _Chaos, chance: random.Random) -> None:
    node = chaos.node(chance)
    assert node.stop() == 0
    node.start()


def _node_hangs(chaos: _Chaos, chance: random.Random) -> None:
    node = chaos.node(chance)
    node.send(signal.SIGSTOP)
    time.sleep(chance.random() * 4)
    node.send(signal.SIGCONT)


def _node_loses_its_disk(chaos: _Chaos, chance: random.Random) -> None:
    node = chaos.node(chance)
    node.kill()
    node.wipe()
    node.start()


def _server_crashes(chaos: _Chaos, chance: random.Random) -> None:
    server = chaos.server(chance)
    server.kill()
    time.sleep(chance.random() * 3)
    server.start()


def _server_stops(chaos: _Chaos, chance: random.Random) -> None:
    server = chaos.server(chance)
    server.stop()
    server.start()


def _server_hangs(chaos: _Chaos, chance: random.Random) -> None:
    server = chaos.server(chance)
    server.pause()
    time.sleep(chance.random() * 4)
    server.resume()


def _server_loses_its_disk(chaos: _Chaos, chance: random.Random) -> None:
    server = chaos.server(chance)
    server.kill()
    shutil.rmtree(server.folder / "store")
    server.start()


def _two_servers_crash(chaos: _Chaos, chance: random.Random) -> None:
    both = chance.sample(chaos.servers.servers, 2)
    for server in both:
        server.kill()
    time.sleep(chance.random() * 3)
    for server in both:
        server.start()


_FAULTS: tuple[Fault, ...] = (
    _node_crashes,
    _server_crashes,
    _node_hangs,
    _node_loses_its_disk,
    _server_stops,
    _node_stops,
    _server_hangs,
    _server_loses_its_disk,
    _two_servers_crash,
)


@pytest.fixture
def chaos() -> Iterator[_Chaos]:
    with running_servers() as servers, process_cluster(servers) as cluster:
        cluster.wait_until_owned("a")
        yield _Chaos(cluster, servers)


@pytest.mark.spec("K-03", "K-04", "K-05", "K-06", "K-07")
@pytest.mark.timeout(_SECONDS + 240)
@pytest.mark.parametrize("seed", _SEEDS)
def test_nothing_acknowledged_is_lost_and_all_nodes_are_equal_whatever_breaks(chaos: _Chaos, seed: int) -> None:
    """Unique values are one row's, strict reads linearizable, and no update under a lock is lost or made twice."""
    chance = random.Random(seed)
    load = Load(chaos.cluster, seed)
    load.begin()
    try:
        ends = time.monotonic() + _SECONDS
        while time.monotonic() < ends:
            for fault in chance.sample(_FAULTS, len(_FAULTS)):
                before = load.count
                fault(chaos, chance)
                chaos.faults.append(fault.__name__)
                chaos.recover()
                wait_for(lambda before=before: load.count > before + 10 or load.errors, f"work after {fault.__name__}")
                if time.monotonic() > ends:
                    break
    finally:
        load.stop()
    chaos.cluster.wait_until_caught_up(*NODES)
    print(f"seed {seed}: {load.count} answered, {load.unavailable} not, {len(chaos.faults)} faults: {chaos.faults}")  # noqa: T201  # for pytest -s
    seen = [load.seen_by(name) for name in NODES]
    assert seen[0] == seen[1] == seen[2]
    load.check(seen[0])
    _check_files(chaos.cluster)


def _check_files(cluster: ProcessCluster) -> None:
    """The files of a partition are equal, table for table, once all nodes are ended at once: none hands over."""
    cluster.wait_until_caught_up(*NODES)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for node in cluster.nodes.values():
            node.send(number)
    for node in cluster.nodes.values():
        node.wait()
    for number in range(2):
        states = [state_of(cluster[name].folder / f"partition-{number}" / "dex.db") for name in NODES]
        for table, rows in states[0].items():
            assert all(state[table] == rows for state in states), f"{table} of partition {number}"
