"""A node of a cluster on three journal servers: puts, gets and catching up, beside bare nats-py on the same servers."""

import asyncio
import shutil
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import nats
from nats.js import api

from dex.engine.client import Client, connect
from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.servers import JournalServers
from dex.engine.cluster.settings import ClusterSettings
from tests.bench.harness import Goal, Line, Run, costs, interleave, seconds, speeds
from tests.bench.sample import Row, command, define, fill, key, rows

_IN_FLIGHT = 64
_BYTES = 200  # about what a put of the sample takes in the journal
_NOWHERE = "http://127.0.0.1:9"
_STREAM = "bare"


def puts(run: Run) -> Iterator[Line]:
    """Put rows, the reference being a publish of as many bytes."""
    count, many = run.size(200, 8), run.size(2000, 128)
    with _servers(run.folder) as servers, _node(servers, run.folder / "a", "a") as node, _Bare(servers) as bare:
        store = define(Client(node))
        measured = interleave(
            lambda number: seconds(lambda: [store.put(*_values(row)) for row in rows(count, start=number * count)]),
            lambda _: bare.run(bare.publish(count, 1)),
            run.pairs(),
        )
        yield costs("cluster put, one at a time, a bare publish", "ms", measured, Goal("≤", 1.6), scale=1000 / count)
        with ThreadPoolExecutor(_IN_FLIGHT) as threads:
            measured = interleave(
                lambda number: seconds(
                    lambda: list(
                        threads.map(lambda row: store.put(*_values(row)), rows(many, start=10**6 + number * many))
                    )
                ),
                lambda _: bare.run(bare.publish(many, _IN_FLIGHT)),
                run.pairs(),
            )
        yield speeds("cluster put, 64 callers, 64 bare publishes in flight", many, measured, Goal("≥", 0.7))
        measured = interleave(
            lambda number: seconds(
                lambda: node.execute_many([command(row) for row in rows(many, start=10**7 + number * many)])
            ),
            lambda _: bare.run(bare.publish(many, _IN_FLIGHT)),
            run.pairs(),
        )
        yield speeds("cluster puts in one call, 64 bare publishes in flight", many, measured, Goal("≥", 0.7))


def gets(run: Run) -> Iterator[Line]:
    """Get rows: strictly, the reference being a bare publish, and plainly, the reference being the embedded engine."""
    count, stored = run.size(200, 8), run.size(2000, 50)
    with (
        _servers(run.folder) as servers,
        _node(servers, run.folder / "a", "a") as node,
        _Bare(servers) as bare,
        connect(run.folder / "embedded") as embedded,
    ):
        here, alone = Client(node), define(embedded)
        store = define(here)
        fill(here, stored)
        fill(embedded, stored)
        keys = [key(number) for number in range(min(count, stored))]
        measured = interleave(
            lambda _: seconds(lambda: [store.get(each, strict=True) for each in keys]),
            lambda _: bare.run(bare.publish(len(keys), 1)),
            run.pairs(),
        )
        yield costs("cluster strict get, a bare publish", "ms", measured, Goal("≤", 2), scale=1000 / len(keys))
        measured = interleave(
            lambda _: seconds(lambda: [store.get(each) for each in keys * 10]),
            lambda _: seconds(lambda: [alone.get(each) for each in keys * 10]),
            run.pairs(),
        )
        yield costs("cluster get, the embedded engine", "ms", measured, Goal("≤", 1.1), scale=100 / len(keys))


def catching_up(run: Run) -> Iterator[Line]:
    """A wiped node reads the whole journal, the reference being a bare consumer that only counts."""
    count = run.size(100_000, 500)
    with _servers(run.folder) as servers, _node(servers, run.folder / "a", "a") as node, _Bare(servers) as bare:
        client = Client(node)
        define(client)
        fill(client, count)
        part = node._partition(command(next(iter(rows(1)))))
        last = part.writer.applied
        measured = interleave(
            lambda _: _catch_up(servers, run.folder / "b", part.number, last),
            lambda _: bare.run(bare.read(part.stream.name, last)),
            run.pairs(2),
        )
        yield speeds("a wiped node applies the journal, a bare consumer", count, measured, None)
        node.snapshot()
        measured = interleave(
            lambda _: _catch_up(servers, run.folder / "b", part.number, last),
            lambda _: bare.run(bare.read(part.stream.name, last)),
            run.pairs(2),
        )
        yield speeds("a wiped node begins with a snapshot, a bare consumer", count, measured, None)


def _catch_up(servers: JournalServers, folder: Path, number: int, last: int) -> float:
    shutil.rmtree(folder, ignore_errors=True)
    began = time.perf_counter()
    with _node(servers, folder, "b") as node:
        node.partitions[number].writer.wait_for(last, 600)
        return time.perf_counter() - began


def _values(row: Row) -> tuple[bytes, bytes, dict[str, Any]]:
    return row.key, row.payload, {"department": row.department, "passport": row.passport}


@contextmanager
def _servers(folder: Path) -> Iterator[JournalServers]:
    servers = JournalServers(folder / "journal")
    try:
        servers.start()
        yield servers
    finally:
        servers.stop()


@contextmanager
def _node(servers: JournalServers, folder: Path, name: str) -> Iterator[ClusterEngine]:
    node = ClusterEngine(folder, ClusterSettings(servers=servers.urls, node=name, partitions=1, lease_seconds=2.0))
    try:
        node.serve_at(_NOWHERE)
        yield node
    finally:
        node.close()


class _Bare:
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


BENCHES = {"cluster-puts": puts, "cluster-gets": gets, "cluster-catch-up": catching_up}
