"""A cluster to measure: three journal servers, a node in this process, others beside it, and bare nats-py."""

import asyncio
import time
from collections.abc import Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Self

import nats
from nats.js import api

from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.servers import JournalServers
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.flows.builtin import default_registry
from tests.bench.harness import seconds
from tests.clusterprocesses import ProcessCluster, process_cluster

IN_FLIGHT = 64
_BYTES = 200  # about what a put of the sample takes in the journal
_NOWHERE = "http://127.0.0.1:9"
_STREAM = "bare"
_NAME = "bench"
# One partition has everything, and snapshots are taken when asked for.
_SETTINGS: dict[str, Any] = {"partitions": 1, "lease_seconds": 2.0, "snapshot_positions": 10**9}
_PATIENCE_SECONDS = 30.0


@contextmanager
def journal_servers(folder: Path) -> Iterator[JournalServers]:
    """Run journal servers meanwhile."""
    servers = JournalServers(folder / "journal")
    try:
        servers.start()
        yield servers
    finally:
        servers.stop()


@contextmanager
def node(servers: JournalServers, folder: Path, name: str = "a") -> Iterator[ClusterEngine]:
    """Run a node in this process meanwhile."""
    told = ClusterSettings(servers=servers.urls, node=name, name=_NAME, **_SETTINGS)
    engine = ClusterEngine(folder / name, told, registry=default_registry)
    try:
        engine.serve_at(_NOWHERE)
        yield engine
    finally:
        engine.close()


def wait_until_owned(engine: ClusterEngine) -> None:
    """Wait until a node owns the partition: Flows are worked then."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not engine.ownership.owns(0):
        if time.monotonic() > deadline:
            raise TimeoutError("the node does not own its partition")
        time.sleep(0.01)


def processes(servers: JournalServers, *names: str, **settings: Any) -> AbstractContextManager[ProcessCluster]:
    """Run nodes as processes of their own meanwhile, each behind a server; they may join one of this process."""
    return process_cluster(servers, names, name=_NAME, **{**_SETTINGS, **settings})


class Bare:
    """nats-py by itself, with a stream like those of the journal."""

    def __init__(self, servers: JournalServers) -> None:
        self._servers = list(servers.urls)
        self._loop = asyncio.new_event_loop()
        self._nc: Any = None

    def __enter__(self) -> Self:
        self.run(self._open())
        return self

    def __exit__(self, *_error: object) -> None:
        self.run(self._nc.close())
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> float:
        """Do some work and give its seconds."""
        return seconds(lambda: self._loop.run_until_complete(work))

    async def _open(self) -> None:
        self._nc = await nats.connect(self._servers, pending_size=0)
        stream = api.StreamConfig(name=_STREAM, subjects=[_STREAM], num_replicas=3, storage=api.StorageType.FILE)
        await self._nc.jetstream(timeout=10).add_stream(stream)

    async def publish(self, count: int, in_flight: int) -> None:
        """Publish so many messages, so many at once."""
        js = self._nc.jetstream(timeout=10)
        left = iter(range(count))

        async def work() -> None:
            for number in left:
                await js.publish(_STREAM, b"x" * _BYTES, headers={"Nats-Msg-Id": f"{time.monotonic_ns()}-{number}"})

        await asyncio.gather(*(work() for _ in range(in_flight)))

    async def read(self, stream: str, last: int) -> None:
        """Read a stream up to a position."""
        js = self._nc.jetstream(timeout=10)
        subscription = await js.subscribe("", stream=stream, ordered_consumer=True)
        while (await subscription.next_msg(timeout=60)).metadata.sequence.stream < last:
            pass
        await subscription.unsubscribe()
