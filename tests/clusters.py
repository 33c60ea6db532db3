"""Real clusters for tests: three journal servers per test process, and on them clusters with names of their own."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import Any, TypeVar

import pytest

from dex.engine.clock import Clock
from dex.engine.cluster.applying import NOTHING
from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.link import Link
from dex.engine.cluster.servers import HERE, JournalServers, Place
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.protocol import Engine
from dex.wcl.commands import Command
from dex.wcl.errors import DexError
from tests.directories import fast_directory
from tests.engine.state import state_of
from tests.serving import some_front

R = TypeVar("R")

_NAMES = count(1)
_SECONDS = 30.0


@contextmanager
def running_servers(places: Sequence[Place] = HERE) -> Iterator[JournalServers]:
    """Give journal servers that are gone afterwards."""
    with fast_directory() as folder:
        servers = JournalServers(folder, places=places)
        try:
            servers.start()
            yield servers
        finally:
            servers.stop()


@pytest.fixture(scope="session")
def journal_servers() -> Iterator[JournalServers]:
    """The journal servers of this test process. Who stops one starts it again."""
    with running_servers() as servers:
        yield servers


class Cluster:
    """A cluster of a test's own. `settings` are what its nodes are told, `options` go to each `ClusterEngine`."""

    def __init__(
        self, servers: JournalServers, folder: Path, settings: dict[str, Any], options: dict[str, Any]
    ) -> None:
        self.name = f"test-{next(_NAMES)}"
        self.folder = folder
        self._settings = {"servers": servers.urls, "name": self.name, "partitions": 2, **settings}
        self._options = options
        self.nodes: dict[str, ClusterEngine] = {}
        self.urls: dict[str, str] = {}
        self._running: dict[str, ExitStack] = {}

    def join(self, node: str, /, *, clock: Clock | None = None, **settings: Any) -> ClusterEngine:
        """Start a node and its server, with a clock of its own if need be; one that was here before finds its files."""
        told = ClusterSettings(**{"node": node, **self._settings, **settings})
        with ExitStack() as stack:
            front = stack.enter_context(some_front())
            engine = ClusterEngine(self.folder / node, told, **{"clock": clock, **self._options})
            stack.callback(engine.close)
            engine.serve_at(front.url)
            stack.enter_context(front.serving(engine))
            self._running[node] = stack.pop_all()
        self.nodes[node], self.urls[node] = engine, front.url
        return engine

    def leave(self, node: str) -> None:
        """Stop a node."""
        del self.nodes[node], self.urls[node]
        self._running.pop(node).close()

    def close(self) -> None:
        """Stop all nodes and delete what the cluster has on the journal servers."""
        with ExitStack() as stack:
            stack.callback(_delete_streams, self._settings["servers"], self.name)
            for running in self._running.values():
                stack.enter_context(running)


def _delete_streams(servers: Sequence[str], cluster: str) -> None:
    link = Link(servers, "cleaning")
    link.open()
    try:
        link.insist(partial(_delete, link, cluster), _SECONDS)
    finally:
        link.close()


async def _delete(link: Link, cluster: str) -> None:
    for info in await link.js.streams_info():
        name = str(info.config.name)
        if name.removeprefix("OBJ_").removeprefix("KV_").startswith(f"{cluster}-"):
            await link.js.delete_stream(name)


@contextmanager
def new_cluster(
    servers: JournalServers, nodes: Sequence[str] = ("a", "b", "c"), *, settings: Any = None, **options: Any
) -> Iterator[Cluster]:
    """Give a cluster with some nodes, gone afterwards."""
    with fast_directory() as folder:
        cluster = Cluster(servers, folder, settings or {}, options)
        try:
            for node in nodes:
                cluster.join(node)
            yield cluster
        finally:
            cluster.close()


def catch_up(nodes: Sequence[ClusterEngine], node: ClusterEngine) -> None:
    """Wait until a node has applied all that any of some nodes has."""
    for number, part in enumerate(node.partitions):
        part.writer.wait_for(max(each.partitions[number].writer.applied for each in nodes), _SECONDS)


def owner_of(nodes: Sequence[ClusterEngine], number: int) -> ClusterEngine:
    """Give the node that owns a partition, as soon as one does."""
    while True:
        for node in nodes:
            if node.ownership.owns(number):
                return node
        time.sleep(0.01)


def work(nodes: Sequence[ClusterEngine]) -> None:
    """Work the Steps that are due, those of each partition on its owner, until nothing is due any more."""
    for number in range(len(nodes[0].partitions)):
        is_done = False
        while not is_done:
            owner = owner_of(nodes, number)
            owner.partitions[number].engine.flows.worker.run(until_idle=True)
            is_done = owner.ownership.owns(number)


def state_of_all(nodes: Sequence[ClusterEngine]) -> dict[str, list[tuple[Any, ...]]]:
    """Give what the partitions hold together, as one node has it; a refused message changes nothing of that."""
    catch_up(nodes, nodes[0])
    found: dict[str, list[tuple[Any, ...]]] = {}
    for part in nodes[0].partitions:
        for name, rows in state_of(part.engine.path).items():
            found.setdefault(name, []).extend(row for row in rows if NOTHING not in row)
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


class Rotating:
    """An engine that sends each command to the next node, once that has all that was answered before.

    `doors` are by which the nodes are asked: engines of their servers, or the nodes themselves.
    """

    def __init__(self, nodes: Sequence[ClusterEngine], doors: Sequence[Engine] = ()) -> None:
        self.nodes = list(nodes)
        self._order = cycle(zip(self.nodes, doors or nodes, strict=True))

    def _next(self) -> Engine:
        node, door = next(self._order)
        catch_up(self.nodes, node)
        return door

    def execute(self, command: Command[R]) -> R:
        """Carry out one command on the next node."""
        return self._next().execute(command)

    def execute_many(self, commands: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Carry out commands on the next node."""
        return self._next().execute_many(commands)

    @property
    def writes(self) -> int:
        """How many times something was sent to be written, by all nodes."""
        return sum(node.writes for node in self.nodes)

    def settle(self, on_pass: Callable[[], None] | None = None) -> None:
        """Do all housekeeping of all nodes."""
        for node in self.nodes:
            catch_up(self.nodes, node)
            node.settle(on_pass)

    def close(self) -> None:
        """Close all nodes."""
        for node in self.nodes:
            node.close()
