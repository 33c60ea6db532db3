"""Nodes of a cluster as processes of their own, for tests that kill, stop and restart them."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import msgspec

from dex.engine.cluster.servers import JournalServers, Place
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.wcl.commands.cluster import ClusterPartition, ClusterStatus, ShowCluster
from dex.wcl.errors import Unavailable
from tests.directories import fast_directory

NODES = ("a", "b", "c")
PATIENCE = 60.0
_ROOT = Path(__file__).parents[1]
_STARTS = count(1)


class NodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the nodes know beside the samples, and where those run that do not run here."""

    flows: tuple[str, ...] = ()
    sync_config: str | None = None
    places: dict[str, Place] = {}

    def place(self, node: str) -> Place:
        """Give where a node runs."""
        return self.places.get(node, Place())


_PLAIN = NodeOptions()


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    settings: ClusterSettings
    options: NodeOptions
    folder: str
    port: int
    ready: str


def main() -> None:
    """Serve one node until it is told to stop."""
    from dex.engine.cluster.engine import ClusterEngine
    from dex.engine.flows.builtin import default_registry
    from dex.engine.server.log import logging_to_stderr
    from dex.engine.server.node import Address, serve
    from dex.engine.server.terms import Terms
    from dex.engine.sync.configfile import load_config
    from dex.engine.sync.storenames import StoreNames

    told = msgspec.json.decode(sys.argv[1], type=_Told)
    path = told.options.sync_config
    engine = ClusterEngine(
        Path(told.folder),
        told.settings,
        registry=lambda: default_registry(told.options.flows),
        attribute_stores=StoreNames(path),
        sync_config=None if path is None else lambda: load_config(path),
    )
    address = Address(told.options.place(told.settings.node).address, told.port)
    with logging_to_stderr(20):
        try:
            serve(engine, address, terms=Terms(), ready=Path(told.ready).write_text)
        finally:
            engine.close()


class NodeProcess:
    """One node; `url` stays the same when it is started again."""

    def __init__(self, settings: ClusterSettings, folder: Path, options: NodeOptions) -> None:
        self.name = settings.node
        self.folder = folder
        self._settings = settings
        self._options = options
        self._port = 0
        self.url = ""
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start; it may not be ready yet."""
        self._ready = self.folder.with_name(f"{self.name}.url.{next(_STARTS)}")
        told = _Told(
            settings=self._settings,
            options=self._options,
            folder=str(self.folder),
            port=self._port,
            ready=str(self._ready),
        )
        program = (sys.executable, "-c", "from tests.clusterprocesses import main; main()")
        with self.folder.with_name(f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._options.place(self.name).prefix, *program, msgspec.json.encode(told).decode()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=_ROOT,
            )
        return self

    def wait_until_ready(self) -> Self:
        """Wait until it serves."""
        wait_for(lambda: self._ready.exists() and self._ready.read_text(), f"{self.name} to serve", self.log)
        self.url = self._ready.read_text()
        self._port = int(self.url.rpartition(":")[2])
        return self

    def log(self) -> str:
        """Give the end of what it has said, but for the requests that it has answered."""
        lines = self.folder.with_name(f"{self.name}.log").read_text().splitlines()
        return "\n".join(line for line in lines if '"message":"request"' not in line)[-6000:]

    def send(self, number: int) -> None:
        """Send it a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it as a crash does."""
        self.send(signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        """Stop it politely, and give its exit code."""
        self.send(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end, and give its exit code."""
        assert self.process is not None
        return self.process.wait(PATIENCE)

    def wipe(self) -> None:
        """Delete its files."""
        shutil.rmtree(self.folder)

    @contextmanager
    def engine(self, timeout: float = PATIENCE) -> Iterator[RemoteEngine]:
        """Give what sends commands to this node alone."""
        engine = RemoteEngine(parse_endpoints(self.url), timeout=timeout)
        try:
            yield engine
        finally:
            engine.close()

    def status(self) -> ClusterStatus:
        """Ask it how the cluster stands."""
        with self.engine() as engine:
            return engine.execute(ShowCluster())


class ProcessCluster:
    """Nodes as processes on journal servers that may be others' too. `endpoint` names all of them."""

    def __init__(
        self, servers: JournalServers, folder: Path, nodes: Sequence[str], options: NodeOptions, **settings: Any
    ) -> None:
        self.servers = servers
        self.name = f"test-{uuid4().hex[:12]}"
        told = {"servers": servers.urls, "name": self.name, "partitions": 2, "lease_seconds": 2.0, **settings}
        self.nodes = {name: NodeProcess(ClusterSettings(node=name, **told), folder / name, options) for name in nodes}

    def __getitem__(self, name: str) -> NodeProcess:
        return self.nodes[name]

    @property
    def endpoint(self) -> str:
        """All addresses."""
        return ",".join(node.url for node in self.nodes.values())

    def owner(self, number: int, asked: str) -> str | None:
        """Give who owns a partition, as a node sees it."""
        return self.partition(number, asked).owner

    def partition(self, number: int, asked: str) -> ClusterPartition:
        """Tell how a partition stands, as a node sees it."""
        return self[asked].status().partitions[number]

    def wait_until_owned(self, asked: str, but_by: str = "") -> list[str]:
        """Wait until all partitions have an owner that is another than `but_by`, and give the owners."""
        found: list[str | None] = []

        def owned() -> bool:
            found[:] = [partition.owner for partition in self[asked].status().partitions]
            return None not in found and but_by not in found

        wait_for(owned, "owners", self[asked].log)
        return [owner for owner in found if owner is not None]

    def wait_until_caught_up(self, *names: str) -> None:
        """Wait until these nodes have applied all that any of them knows to be committed."""

        def caught_up() -> bool:
            partitions = self[names[0]].status().partitions
            behind = {copy.node: copy.behind for partition in partitions for copy in partition.copies if copy.behind}
            answered = {copy.node for partition in partitions for copy in partition.copies}
            return answered >= set(names) and not behind.keys() & set(names)

        wait_for(caught_up, f"{names} to catch up", self[names[0]].log)


@contextmanager
def process_cluster(
    servers: JournalServers, nodes: Sequence[str] = NODES, options: NodeOptions = _PLAIN, **settings: Any
) -> Iterator[ProcessCluster]:
    """Run nodes meanwhile."""
    with fast_directory() as folder:
        cluster = ProcessCluster(servers, folder, nodes, options, **settings)
        try:
            for node in cluster.nodes.values():
                node.start()
            for node in cluster.nodes.values():
                node.wait_until_ready()
            yield cluster
        finally:
            for node in cluster.nodes.values():
                if node.process is not None:
                    node.process.kill()
                    node.process.wait(PATIENCE)


def wait_for(happened: Callable[[], object], what: str, log: Callable[[], str] = str) -> None:
    """Look again and again until something has happened."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if happened():
                return
        except Unavailable:
            pass
        assert time.monotonic() < deadline, f"waited in vain for {what}: {log()}"
        time.sleep(0.02)
