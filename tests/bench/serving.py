"""Requests to `dex serve`, a process of its own: puts, gets and locked RPCs over 1, 16 and 64 connections."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from dex.engine.client import Client, connect
from dex.samples.chunked_subscribers import ChunkedSubscribers
from dex.wcl.wire import encode
from tests.bench.harness import Goal, Line, Pair, Run, costs, interleave, seconds, speeds
from tests.bench.load import get, load, post
from tests.bench.programs import environment, program
from tests.bench.sample import STORE, Row, command, define, fill, key, rows

_CONNECTIONS = (1, 16, 64)
_P50_SECONDS = 0.003
_ROOT = Path(__file__).parents[2]


def puts(run: Run) -> Iterator[Line]:
    """Put rows, the reference being one thread of the embedded engine."""
    count = run.size(1000, 32)
    with connect(run.folder / "one") as alone, _dex(run.folder / "served") as (port, client):
        store = define(alone)
        define(client)

        def reference(number: int) -> float:
            several = list(_rows(number, count))
            return seconds(lambda: [store.put(row.key, row.payload, _named(row)) for row in several])

        for place, connections in enumerate(_CONNECTIONS):
            start = 1000 * (place + 1)
            measured = interleave(
                lambda number, start=start, connections=connections: (
                    load(port, [_put(row) for row in _rows(start + number, count)], connections).seconds
                ),
                reference,
                run.pairs(),
            )
            goal = Goal("≥", 0.8) if connections == 16 else None
            yield speeds(f"HTTP put, {connections} connections, one embedded thread", count, measured, goal)


def gets(run: Run) -> Iterator[Line]:
    """Get rows, the reference being a bare route of the same framework."""
    count, stored = run.size(5000, 50), run.size(10_000, 50)
    with _dex(run.folder / "served") as (port, client), _bare() as bare:
        define(client)
        fill(client, stored)
        ours = [get(f"/v1/state-stores/{STORE}/rows/{key(number % stored).decode()}") for number in range(count)]
        nothing = [get(f"/{key(number % stored).decode()}") for number in range(count)]
        for connections in _CONNECTIONS:
            several = [load(port, ours, connections) for _ in range(run.pairs())]
            measured = interleave(
                lambda _, connections=connections: load(port, ours, connections).seconds,
                lambda _, connections=connections: load(bare, nothing, connections).seconds,
                run.pairs(),
            )
            yield speeds(f"HTTP get, {connections} connections, a bare route", count, measured, Goal("≥", 0.5))
            halves = [Pair(each.percentile(0.5), _P50_SECONDS) for each in several]
            goal = Goal("≤", 1) if connections == 1 else None
            yield costs(f"HTTP get, {connections} connections, p50, the limit", "ms", halves, goal, scale=1000)


def calls(run: Run) -> Iterator[Line]:
    """Register subscribers, a locked RPC each, the reference being one thread of the embedded engine."""
    count = run.size(300, 16)
    path = "/patterns/sequentially-chunked-attribute-map/register"
    with connect(run.folder / "one") as alone, _dex(run.folder / "served") as (port, client):
        embedded, served = ChunkedSubscribers(alone), ChunkedSubscribers(client)
        embedded.run.start()
        served.run.start()
        bodies = [
            msgspec.json.encode({"subscriberId": f"s{number}", "deliveryAddress": f"s{number}@example.com"})
            for number in range(count)
        ]
        for connections in _CONNECTIONS:
            measured = interleave(
                lambda _, connections=connections: (
                    load(port, [post(path, body) for body in bodies], connections).seconds
                ),
                lambda _: seconds(
                    lambda: [embedded.register(f"s{number}", f"s{number}@example.com") for number in range(count)]
                ),
                run.pairs(),
            )
            yield speeds(f"HTTP locked RPC, {connections} connections, one embedded thread", count, measured, None)


def memory(run: Run) -> Iterator[Line]:
    """An hour's worth of requests at 30 a second: the server's memory after them and after the first tenth."""
    count = run.size(108_000, 200)
    with _dex(run.folder / "served") as (port, client):
        define(client)
        requests = [_put(row) if number % 4 == 0 else _get(row) for number, row in enumerate(rows(count))]
        tenth = count // 10
        load(port, requests[:tenth], 16)
        early = _resident_mib(port)
        load(port, requests[tenth:], 16)
        yield costs(
            f"memory of dex serve after {count:,} requests, a tenth", "MiB", [Pair(_resident_mib(port), early)], None
        )


def _get(row: Row) -> bytes:
    return post("/v1/commands", msgspec.json.encode([{"command": "get_row", "store": STORE, "key": row.key.decode()}]))


def _put(row: Row) -> bytes:
    return post("/v1/commands", encode(command(row)))


def _named(row: Row) -> dict[str, Any]:
    return {"department": row.department, "passport": row.passport}


def _rows(number: int, count: int) -> Iterator[Row]:
    return rows(count, start=number * count)


@contextmanager
def _dex(data_dir: Path) -> Iterator[tuple[int, Client]]:
    """Run `dex serve`, and give its port and a client of it."""
    port = _free_port()
    server = [program("dex"), "serve", "--quiet", "--port", str(port)]
    with _running(server, port, environment(data_dir)), connect(f"http://127.0.0.1:{port}") as client:
        yield port, client


@contextmanager
def _bare() -> Iterator[int]:
    port = _free_port()
    with _running([sys.executable, "-m", "tests.bench.bareserver", str(port)], port, None):
        yield port


_processes: dict[int, int] = {}


@contextmanager
def _running(arguments: list[str], port: int, environ: dict[str, str] | None) -> Iterator[None]:
    process = subprocess.Popen(arguments, cwd=_ROOT, env=environ)
    _processes[port] = process.pid
    try:
        _wait_for(port)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _resident_mib(port: int) -> float:
    status = Path(f"/proc/{_processes[port]}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1]) / 1024


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise TimeoutError(f"nothing listens on port {port}")


BENCHES = {"http-put": puts, "http-get": gets, "http-rpc": calls, "http-memory": memory}
