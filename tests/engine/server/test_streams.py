"""Streams: slow readers, readers that go away, and a server that stops."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.server import dispatch
from dex.engine.server.limits import Limits
from dex.engine.server.terms import Terms
from dex.engine.statestore import StateStore
from dex.samples.order_flow import Order, OrderFlow
from dex.wcl.commands import PageRows, PutRow
from tests.directories import fast_directory
from tests.engine.server.conftest import Server, served

pytestmark = pytest.mark.spec("K-01")

ROWS = 1000
PAYLOAD = b"x" * 64 * 1024


class CountingEngine(LocalEngine):
    """Counts the rows that pages have had."""

    rows = 0

    def execute(self, command: Any) -> Any:
        result = super().execute(command)
        if isinstance(command, PageRows):
            self.rows += len(result.rows)
        return result


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that waits for its clients longer than a test takes, with a store of 64 MB."""
    with fast_directory() as path:
        engine = CountingEngine(path / "data")
        Client(engine).state_stores.define(StateStore.named("large"))
        for first in range(0, ROWS, 100):
            engine.execute_many([PutRow(store="large", key=b"%04d" % (first + i), payload=PAYLOAD) for i in range(100)])
        try:
            with served(engine, Terms(limits=Limits(unread_seconds=3600))) as running:
                yield running
        finally:
            engine.close()


@contextmanager
def asked(server: Server, path: str) -> Iterator[socket.socket]:
    """Ask for a stream, and read nothing of it."""
    with socket.create_connection(server.address, timeout=60) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        yield connection


def settled(server: Server, http: httpx.Client) -> int:
    """Give how many rows were read once other requests find that no more are."""
    before = -1
    while before != server.engine.rows:  # type: ignore[attr-defined]  # of CountingEngine
        before = server.engine.rows  # type: ignore[attr-defined]  # as above
        for _ in range(50):
            http.get("/v1/state-stores/large/rows/0001").raise_for_status()
    return before


def test_a_stream_gives_every_row_once_and_in_order(http: httpx.Client) -> None:
    with http.stream("GET", "/v1/state-stores/iterate?store=large&after=0899&limit=90") as response:
        keys = [json.loads(line)["key"] for line in response.iter_lines()]
    assert keys == [f"{number:04}" for number in range(900, 990)]


def test_no_more_is_read_than_the_client_takes_and_others_go_on(server: Server, http: httpx.Client) -> None:
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(asked(server, "/v1/state-stores/iterate?store=large"))
        assert settled(server, http) < 4 * ROWS / 2


def test_waiting_streams_take_no_place_of_other_requests(server: Server, http: httpx.Client) -> None:
    feed = Client(server.engine).feeds.define("f")
    with ExitStack() as stack:
        tails = [stack.enter_context(asked(server, "/v1/feeds/f/tail?after=0")) for _ in range(200)]
        for tail in tails:
            assert tail.recv(15) == b"HTTP/1.1 200 OK"
        page = http.get("/v1/feeds/f/records?wait_ms=1")
        assert (page.status_code, page.json()["records"]) == (200, [])
        feed.append("k")
        for tail in tails:
            read_until(tail, b'"key":"k"')


def test_streams_leave_connections_to_other_requests(
    server: Server, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_MOST_STREAMS", 1)
    Client(server.engine).feeds.define("f")
    with asked(server, "/v1/feeds/f/tail") as connection:
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        response = http.get("/v1/feeds/f/tail")
        assert (response.status_code, response.json()["error"]["kind"]) == (503, "unavailable")
        assert http.get("/v1/feeds").status_code == 200
    while server.dispatcher.streams._open:
        http.get("/v1/feeds")
    with http.stream("GET", "/v1/feeds/f/tail") as response:
        assert response.status_code == 200


def read_until(connection: socket.socket, wanted: bytes) -> None:
    found = b""
    while wanted not in found:
        part = connection.recv(65536)
        assert part
        found += part


def test_a_client_that_goes_away_ends_its_stream(server: Server, http: httpx.Client) -> None:
    Client(server.engine).feeds.define("f")
    Client(server.engine).start_flow(OrderFlow, "o", Order("o", 1))
    for path in ("/v1/feeds/f/tail", "/v1/flows/o/watch"):
        with asked(server, path) as connection:
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
            while not server.dispatcher.journal.waiting:
                http.get("/v1/feeds")
        while server.dispatcher.journal.waiting:
            http.get("/v1/feeds")


@pytest.mark.parametrize("path", ["/v1/feeds/f/tail", "/v1/flows/o/watch"])
def test_a_stop_ends_a_stream_that_waits_as_if_nothing_more_came(server: Server, path: str) -> None:
    Client(server.engine).feeds.define("f")
    Client(server.engine).start_flow(OrderFlow, "o", Order("o", 1))
    with httpx.stream("GET", f"{server.url}{path}", timeout=60) as response:
        server.stop()
        assert [line for line in response.iter_lines() if "error" in json.loads(line)] == []


def test_a_stop_finishes_a_stream_that_its_client_reads(server: Server) -> None:
    with httpx.stream("GET", f"{server.url}/v1/state-stores/iterate?store=large", timeout=60) as response:
        lines = response.iter_lines()
        next(lines)
        server.uvicorn.should_exit = True
        assert sum(1 for _ in lines) == ROWS - 1


def test_a_stop_refuses_what_still_waits(server: Server) -> None:
    Client(server.engine).start_flow(OrderFlow, "o", Order("o", 1))
    with asked(server, "/v1/flows/o/wait?wait_ms=600000") as connection:
        while not server.dispatcher._lanes.waiting._busy:
            httpx.get(f"{server.url}/v1/feeds")
        server.stop()
        told = b"".join(iter(lambda: connection.recv(65536), b""))
    assert told.startswith(b"HTTP/1.1 503")
    assert b"being stopped" in told


def test_a_stop_finishes_a_batch_that_also_writes(server: Server) -> None:
    Client(server.engine).start_flow(OrderFlow, "o", Order("o", 1))
    batch = [
        {"command": "wait_for_flow", "flow_id": "o", "wait_ms": 300},
        {"command": "delete_row", "store": "large", "key": "0000"},
    ]
    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(lambda: httpx.post(f"{server.url}/v1/commands", json=batch, timeout=60))
        while not server.dispatcher._lanes.waiting._busy:
            httpx.get(f"{server.url}/v1/feeds")
        server.stop()
        waited, deleted = asking.result().json()
    assert waited["error"]["type"] == "LongPollTimeoutError"
    assert deleted["existed"]


@pytest.mark.spec("K-07", "S-07")
def test_a_write_that_a_stop_cuts_off_may_have_been_applied(server: Server) -> None:
    """A client must not ask another server to do it once more."""
    server.uvicorn.config.timeout_graceful_shutdown = 0
    Client(server.engine).start_flow(OrderFlow, "o", Order("o", 1))
    batch = [
        {"command": "wait_for_flow", "flow_id": "o", "wait_ms": 300},
        {"command": "delete_row", "store": "large", "key": "0000"},
    ]
    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(lambda: httpx.post(f"{server.url}/v1/commands", json=batch, timeout=60))
        while not server.dispatcher._lanes.waiting._busy:
            httpx.get(f"{server.url}/v1/feeds")
        server.stop()
        answer = asking.result()
    assert answer.status_code == 503
    assert answer.json()["error"]["applied"] == "unknown"


def test_a_stop_waits_for_no_client_that_reads_nothing(server: Server, http: httpx.Client) -> None:
    server.uvicorn.config.timeout_graceful_shutdown = 3600
    with asked(server, "/v1/state-stores/iterate?store=large"):
        assert settled(server, http) < ROWS / 2
        server.stop()
