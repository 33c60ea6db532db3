"""A real cluster while its processes end, hang, come back and lose their disks, or its network breaks.

A fault is followed by its end and by everybody's recovery, as more than one lost journal server at a time is more than
a cluster stands. The seed tells which faults there are; DEX_CHAOS_SECONDS makes a long run of it, with a seed of its
own that is told.
"""

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from dex.engine.cluster.servers import SERVERS, JournalServer, JournalServers, Place, is_healthy
from tests.chaos import counterflow
from tests.chaos.clusterload import Load
from tests.chaos.counters import Counters
from tests.clusterprocesses import NODES, NodeOptions, NodeProcess, ProcessCluster, process_cluster, wait_for
from tests.clusters import running_servers
from tests.directories import fast_directory
from tests.engine.state import state_of
from tests.netns import Network, private_network, why_not
from tests.postgres import running_server

_SECONDS = float(os.environ.get("DEX_CHAOS_SECONDS", "12"))
_IS_LONG = "DEX_CHAOS_SECONDS" in os.environ
_SEEDS = [20240229, int(time.time())] if _IS_LONG else [20240229]

Fault = Callable[["_Chaos", random.Random], None]


class _Chaos:
    """A cluster and what breaks it."""

    def __init__(
        self, cluster: ProcessCluster, servers: JournalServers, counters: Counters, network: Network | None
    ) -> None:
        self.cluster = cluster
        self.servers = servers
        self.counters = counters
        self._network = network
        self.faults: list[str] = []

    @property
    def network(self) -> Network:
        """Where it runs, if that is not this machine's own."""
        assert self._network is not None
        return self._network

    @property
    def server_names(self) -> list[str]:
        return [server.name for server in self.servers.servers]

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


def _server_is_cut_off_from_the_others(chaos: _Chaos, chance: random.Random) -> None:
    chaos.network.cut([chaos.server(chance).name], chaos.server_names)
    _heal(chaos, chance)


def _server_is_cut_off(chaos: _Chaos, chance: random.Random) -> None:
    chaos.network.cut([chaos.server(chance).name], chaos.network.members)
    _heal(chaos, chance)


def _server_hears_nobody(chaos: _Chaos, chance: random.Random) -> None:
    chaos.network.silence(chaos.network.members, [chaos.server(chance).name])
    _heal(chaos, chance)


def _server_is_heard_by_nobody(chaos: _Chaos, chance: random.Random) -> None:
    chaos.network.silence([chaos.server(chance).name], chaos.network.members)
    _heal(chaos, chance)


def _node_is_cut_off(chaos: _Chaos, chance: random.Random) -> None:
    chaos.network.cut([chaos.node(chance).name], chaos.network.members)
    _heal(chaos, chance)


def _node_is_cut_off_from_the_journal(chaos: _Chaos, chance: random.Random) -> None:
    chaos.network.cut([chaos.node(chance).name], chaos.server_names)
    _heal(chaos, chance)


def _node_is_cut_off_from_the_others(chaos: _Chaos, chance: random.Random) -> None:
    chaos.network.cut([chaos.node(chance).name], NODES)
    _heal(chaos, chance)


def _node_hears_nothing_of_the_journal(chaos: _Chaos, chance: random.Random) -> None:
    chaos.network.silence(chaos.server_names, [chaos.node(chance).name])
    _heal(chaos, chance)


def _network_splits(chaos: _Chaos, chance: random.Random) -> None:
    few = [chaos.server(chance).name, chaos.node(chance).name]
    chaos.network.cut(few, [member for member in chaos.network.members if member not in few])
    _heal(chaos, chance)


def _heal(chaos: _Chaos, chance: random.Random) -> None:
    """Let the cut last from less than a lease to more than an election of the journal's, then end it."""
    time.sleep(1 + chance.random() * 5)
    chaos.network.heal()


_OF_PROCESSES: tuple[Fault, ...] = (
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
_OF_THE_NETWORK: tuple[Fault, ...] = (
    _server_is_cut_off_from_the_others,
    _node_is_cut_off,
    _server_is_cut_off,
    _node_is_cut_off_from_the_journal,
    _server_hears_nobody,
    _network_splits,
    _node_is_cut_off_from_the_others,
    _server_is_heard_by_nobody,
    _node_hears_nothing_of_the_journal,
)


@contextmanager
def _running(network: Network | None) -> Iterator[_Chaos]:
    places = {} if network is None else {member: network.place(member) for member in network.members}
    with ExitStack() as stack:
        folder = stack.enter_context(fast_directory())
        counters = Counters(stack.enter_context(running_server()), folder)
        servers = stack.enter_context(running_servers([places.get(name, Place()) for name in SERVERS]))
        flows = (counterflow.__name__,)
        options = NodeOptions(flows=flows, sync_config=str(counters.config), places=places)
        cluster = stack.enter_context(process_cluster(servers, options=options))
        cluster.wait_until_owned("a")
        yield _Chaos(cluster, servers, counters, network)


@pytest.mark.spec("K-03", "K-04", "K-05", "K-06", "K-07", "Y-16", "Y-17")
@pytest.mark.timeout(_SECONDS + 240)
@pytest.mark.parametrize("seed", _SEEDS)
def test_nothing_acknowledged_is_lost_and_all_nodes_are_equal_whatever_process_breaks(seed: int) -> None:
    """Unique values are one row's, strict reads linearizable, no update under a lock is lost or made twice, and rows
    in PostgreSQL are those of the newest owner.
    """
    with _running(None) as chaos:
        _campaign(chaos, _OF_PROCESSES, seed)


@pytest.mark.spec("K-03", "K-04", "K-05", "K-06", "K-07", "Y-16", "Y-17")
@pytest.mark.timeout(_SECONDS + 240)
@pytest.mark.parametrize("seed", _SEEDS)
def test_nothing_acknowledged_is_lost_and_all_nodes_are_equal_whatever_link_breaks(seed: int) -> None:
    """As above. All reach PostgreSQL throughout, also an owner that does not know that it is deposed."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with private_network([*SERVERS, *NODES]) as network, _running(network) as chaos:
        _campaign(chaos, _OF_THE_NETWORK, seed)


def _campaign(chaos: _Chaos, faults: tuple[Fault, ...], seed: int) -> None:
    chance = random.Random(seed)
    load = Load(chaos.cluster, chaos.counters, seed)
    load.begin()
    try:
        ends = time.monotonic() + _SECONDS
        while time.monotonic() < ends:
            for fault in chance.sample(faults, len(faults)):
                before = load.count
                fault(chaos, chance)
                chaos.faults.append(fault.__name__.strip("_").replace("_", " "))
                chaos.recover()
                wait_for(lambda before=before: load.count > before + 10 or load.errors, f"work after {fault.__name__}")
                if time.monotonic() > ends:
                    break
    finally:
        load.stop()
    load.settle()
    chaos.cluster.wait_until_caught_up(*NODES)
    seen = [load.seen_by(name) for name in NODES]
    assert seen[0] == seen[1] == seen[2]
    checked = {**load.check(seen[0]), "tables equal on all nodes": _check_files(chaos.cluster)}
    print(f"seed {seed}: {load.count} operations answered, {load.unavailable} not")  # noqa: T201  # the run's record
    print(f"{len(chaos.faults)} faults: {dict(Counter(chaos.faults))}")  # noqa: T201  # as above
    print(f"{sum(checked.values())} checked: {checked}")  # noqa: T201  # as above


def _check_files(cluster: ProcessCluster) -> int:
    """The files of a partition are equal, table for table, once all nodes are ended at once: none hands over.

    Gives how many tables that were.
    """
    cluster.wait_until_caught_up(*NODES)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for node in cluster.nodes.values():
            node.send(number)
    for node in cluster.nodes.values():
        node.wait()
    tables = 0
    for number in range(2):
        states = [state_of(cluster[name].folder / f"partition-{number}" / "dex.db") for name in NODES]
        for table, rows in states[0].items():
            assert all(state[table] == rows for state in states), f"{table} of partition {number}"
        tables += len(states[0])
    return tables
