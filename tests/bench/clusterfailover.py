"""How long a cluster stands still when a part of it ends: until the next write, or the next RPC, is answered."""

import time
from collections.abc import Callable, Iterator
from functools import partial

from dex.engine.client import Client
from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.servers import JournalServer, JournalServers, is_healthy
from dex.engine.statestore import StateStore
from dex.samples.chunked_subscribers import ChunkedSubscribers
from dex.wcl.commands.cluster import DrainNode
from dex.wcl.errors import Unavailable
from tests.bench.clusters import journal_servers, node, processes
from tests.bench.harness import Goal, Line, Pair, Run, costs, seconds
from tests.bench.sample import define
from tests.clusterprocesses import NodeProcess, ProcessCluster, wait_for

_LEADER_SECONDS = 10.0
_OWNER_SECONDS = 2.0  # beyond the lease
_DRAIN_SECONDS = 1.0
_PAIRS = 3


def leader(run: Run) -> Iterator[Line]:
    """Kill the journal server that leads the stream."""
    with journal_servers(run.folder) as servers, node(servers, run.folder) as engine:
        store = define(Client(engine))
        measured = [
            Pair(_without_leader(servers, engine, store, f"row {number}"), _LEADER_SECONDS)
            for number in range(run.pairs(_PAIRS))
        ]
        yield costs("cluster put, journal leader killed, the limit", "s", measured, Goal("≤", 1))


def owner(run: Run) -> Iterator[Line]:
    """Kill the node that owns a Flow, and drain it."""
    lease = float(run.size(10, 2))
    with (
        journal_servers(run.folder) as servers,
        processes(servers, "a", "b", "c", lease_seconds=lease) as cluster,
    ):
        with cluster["a"].engine() as engine:
            ChunkedSubscribers(Client(engine)).run.start()
        for name, end, limit in (
            ("killed", NodeProcess.kill, lease + _OWNER_SECONDS),
            ("drained", _drain, _DRAIN_SECONDS),
        ):
            measured = [Pair(_without_owner(cluster, end), limit) for _ in range(run.pairs(_PAIRS))]
            yield costs(f"cluster RPC, owner {name}, the limit", "s", measured, Goal("≤", 1))


def _without_leader(servers: JournalServers, engine: ClusterEngine, store: StateStore, key: str) -> float:
    store.put(key, "before")
    name = _leader(engine)
    (led,) = [server for server in servers.servers if server.name == name]
    led.kill()
    stood = seconds(lambda: _insist(lambda: store.put(key, "after")))
    led.start()
    wait_for(partial(_is_back, led, engine), "the journal server")
    return stood


def _leader(engine: ClusterEngine) -> str | None:
    (part,) = engine.partitions
    info = engine._link.call(engine._link.js.stream_info(part.stream.name), _LEADER_SECONDS)
    return None if info.cluster is None else info.cluster.leader


def _is_back(server: JournalServer, engine: ClusterEngine) -> bool:
    """Tell whether a server is up to date, so that the loss of another one is no loss of the quorum."""
    (part,) = engine.partitions
    info = engine._link.call(engine._link.js.stream_info(part.stream.name), _LEADER_SECONDS)
    replicas = (info.cluster.replicas if info.cluster is not None else None) or []
    return is_healthy(server) and len(replicas) == 2 and all(each.current for each in replicas)


def _without_owner(cluster: ProcessCluster, end: Callable[[NodeProcess], object]) -> float:
    """End the owner, give the seconds until another node has an RPC answered, and start the owner again."""
    (name,) = cluster.wait_until_owned("a")
    ended, other = cluster[name], next(each for each in cluster.nodes.values() if each.name != name)
    with other.engine() as engine:
        subscribers = ChunkedSubscribers(Client(engine))
        _insist(lambda: subscribers.register("before", "here"))
        began = time.perf_counter()
        end(ended)
        _insist(lambda: subscribers.register("after", "here"))
        stood = time.perf_counter() - began
    if ended.process is not None and ended.process.poll() is None:
        ended.stop()
    ended.start().wait_until_ready()
    return stood


def _drain(ended: NodeProcess) -> None:
    with ended.engine() as engine:
        engine.execute(DrainNode(node=ended.name))


def _insist(work: Callable[[], object]) -> None:
    """Try until it is answered."""
    while True:
        try:
            work()
        except Unavailable:
            time.sleep(0.01)
        else:
            return


BENCHES = {"cluster-leader": leader, "cluster-owner": owner}
