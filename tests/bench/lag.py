"""How long a commit takes to be a visible row, with `dex sync run` as a process of its own."""

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from dex.engine.client import Client
from tests.bench.harness import Goal, Line, Pair, Run, costs
from tests.bench.orders import (
    BenchOrderFlow,
    connect_synced,
    durable_server,
    flow_id,
    parts_of,
    start_orders,
    write_config,
)
from tests.bench.programs import environment, program

if TYPE_CHECKING:
    from psycopg import Connection

    from dex.samples.demo_postgres import Server

_P50_SECONDS = 0.05
_P99_SECONDS = 0.5
_ORDERS = 100
_CALLERS = 16
_LOOK_SECONDS = 0.005
_LATE = 200
_PATIENCE = 120.0
# Each version of a row that was ever visible, as a row itself may be written over before anybody looks.
_LOG = """
CREATE TABLE seen (n bigserial PRIMARY KEY, id text NOT NULL, total bigint NOT NULL);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO seen (id, total) VALUES (NEW.id, NEW."Total"); RETURN NULL; END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION note();
"""
_SEEN = "SELECT n, id, total FROM seen WHERE n > %s ORDER BY n"


class Lags(NamedTuple):
    """What one window of commits came to, in seconds, and the commits of each second."""

    p50: float
    p99: float
    rate: float


class _Watch(threading.Thread):
    """Notes when each version of a row is first visible; looking every 5 ms makes it late by that at most."""

    def __init__(self, connection: "Connection[Any]") -> None:
        super().__init__(name="bench-watch")
        self._connection = connection
        self._stopping = threading.Event()
        self.seen: list[tuple[str, int, float]] = []

    def run(self) -> None:
        """Look until told to stop."""
        last = 0
        known: set[int] = set()
        while not self._stopping.wait(_LOOK_SECONDS):
            # Numbers are given before the commit, so that a lower one may become visible later.
            found = self._connection.execute(_SEEN, (last - _LATE,)).fetchall()
            now = time.monotonic()
            self.seen.extend((id_, total, now) for n, id_, total in found if n not in known)
            known.update(n for n, _, _ in found)
            last = max([last, *(n for n, _, _ in found)])

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self.join()


def lag(run: Run) -> Iterator[Line]:
    """Commit at an even rate to 100 orders, round and round, from as many callers as that needs."""
    import psycopg

    with durable_server(run.folder) as server, connect_synced(run.folder / "data") as client:
        server.execute(_LOG)
        start_orders(parts_of(client), _ORDERS)
        with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection, _worker(run, server):
            watch = _Watch(connection)
            watch.start()
            numbers = count(1)
            try:
                _window(client, watch, numbers, 100, 1.0)  # the worker has started by the end of it
                for rate, bounded in ((100, True), (1000, False)):
                    several = [_window(client, watch, numbers, rate, run.size(6, 1)) for _ in range(run.pairs())]
                    yield from _lines(rate, several, bounded=bounded)
            finally:
                watch.stop()


def _lines(rate: int, several: list[Lags], *, bounded: bool) -> Iterator[Line]:
    goal = Goal("≤", 1) if bounded else None
    name = f"sync lag at {rate:,} commits/s"
    yield costs(f"{name}, p50, the limit", "ms", [Pair(each.p50, _P50_SECONDS) for each in several], goal, scale=1000)
    yield costs(f"{name}, p99, the limit", "ms", [Pair(each.p99, _P99_SECONDS) for each in several], goal, scale=1000)
    yield costs(f"commits/s made of {rate:,}", "/s", [Pair(each.rate, rate) for each in several], None)


def _window(client: Client, watch: _Watch, numbers: Iterator[int], rate: int, window: float) -> Lags:
    """Commit for some seconds, wait until the last commit is visible, and tell what came of it."""
    wanted = [next(numbers) for _ in range(int(rate * window))]
    began = time.monotonic()

    def commit(number: int) -> tuple[str, int, float]:
        time.sleep(max(0.0, began + (number - wanted[0]) / rate - time.monotonic()))
        id_ = flow_id(number % _ORDERS)
        client.set_attribute(BenchOrderFlow.total, id_, number)
        return id_, number, time.monotonic()

    with ThreadPoolExecutor(_CALLERS) as pool:
        made = list(pool.map(commit, wanted))
    taken = max(at for _, _, at in made) - began
    lags = sorted(_lags(watch, made))
    return Lags(lags[len(lags) // 2], lags[int(len(lags) * 0.99)], len(made) / taken)


def _lags(watch: _Watch, made: list[tuple[str, int, float]]) -> list[float]:
    """Give how long each commit was not visible: neither its own value nor a later one of its Flow."""
    latest = {id_: number for id_, number, _ in made}
    deadline = time.monotonic() + _PATIENCE
    while not latest.items() <= {id_: total for id_, total, _ in watch.seen}.items():
        assert time.monotonic() < deadline, "the worker does not write"
        time.sleep(0.05)
    visible: dict[str, list[tuple[int, float]]] = {}
    for id_, total, at in watch.seen:
        visible.setdefault(id_, []).append((total, at))
    return [next(at for total, at in visible[id_] if total >= number) - committed for id_, number, committed in made]


@contextmanager
def _worker(run: Run, server: "Server") -> Iterator[None]:
    command = [program("dex"), "sync", "run", "--quiet", "--sync-config", str(write_config(run.folder, server))]
    worker = subprocess.Popen(command, env=environment(run.folder / "data"))
    try:
        yield
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(_PATIENCE)


BENCHES = {"sync-lag": lag}
