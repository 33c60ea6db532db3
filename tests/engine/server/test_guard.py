"""Connections of clients that are slow, idle, too many or send too much."""

import socket
import threading
from contextlib import ExitStack, suppress

import httpx
import pytest

from dex.engine.client import Client
from dex.engine.server.limits import Limits
from dex.engine.server.terms import Terms
from dex.engine.statestore import StateStore
from tests.engine.server.conftest import Serve, Server
from tests.serveprocess import read_all

pytestmark = pytest.mark.spec("K-02")

HOST = b"Host: localhost\r\n"
LIVES = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
LAST = b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
POST = b"POST /v1/commands HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
SHOW = b'[{"command":"show_state_stores"}]'
SHORT = 0.2
NEVER = 1000.0
CUT = (ConnectionResetError, BrokenPipeError)


def with_limits(serve_on: Serve, **limits: float) -> Server:
    return serve_on(Terms(limits=Limits(**limits)))  # type: ignore[arg-type]  # each is what its name says


def send_for_ever(connection: socket.socket, data: bytes) -> None:
    while True:
        connection.sendall(data)


def statuses(received: bytes) -> list[int]:
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]


def test_a_head_that_does_not_arrive_in_time_is_told_so(serve_on: Serve) -> None:
    server = with_limits(serve_on, head_seconds=SHORT, idle_seconds=NEVER)
    assert statuses(server.talk(b"GET /healthz HTTP/1.1\r\nX-")) == [408]


def test_who_sends_nothing_is_closed_without_a_word(serve_on: Serve) -> None:
    assert with_limits(serve_on, head_seconds=SHORT, idle_seconds=NEVER).talk() == b""


def test_empty_lines_buy_no_time(serve_on: Serve) -> None:
    server = with_limits(serve_on, head_seconds=SHORT, idle_seconds=NEVER)
    with server.connect() as connection:
        received = []
        reading = threading.Thread(target=lambda: received.append(read_all(connection)))
        reading.start()
        with suppress(*CUT):
            while reading.is_alive():
                connection.sendall(b"\r\n")
                reading.join(0.02)
        reading.join()
    assert received == [b""]


def test_an_idle_connection_is_closed(serve_on: Serve) -> None:
    server = with_limits(serve_on, head_seconds=NEVER, idle_seconds=SHORT)
    assert statuses(server.talk(LIVES)) == [200]


def test_a_body_that_does_not_come_is_told_so(serve_on: Serve) -> None:
    server = with_limits(serve_on, body_seconds=SHORT, idle_seconds=NEVER)
    assert statuses(server.talk(POST, b"Content-Length: 1000\r\n\r\n[")) == [408]


def test_a_body_that_trickles_gets_no_more_time_than_its_bytes_are_worth(serve_on: Serve) -> None:
    server = with_limits(serve_on, body_seconds=SHORT, body_bytes_per_second=1000, idle_seconds=NEVER)
    with server.connect() as connection:
        connection.sendall(POST + b"Content-Length: 100000\r\n\r\n[")
        received = []
        reading = threading.Thread(target=lambda: received.append(read_all(connection)))
        reading.start()
        with suppress(*CUT):
            while reading.is_alive():
                connection.sendall(b" ")
                reading.join(0.02)
        reading.join()
    assert statuses(received[0]) == [408]


def test_a_body_that_makes_progress_has_time(serve_on: Serve) -> None:
    server = with_limits(serve_on, body_seconds=SHORT, body_bytes_per_second=1, idle_seconds=SHORT)
    with server.connect() as connection:
        connection.sendall(POST + b"Connection: close\r\nContent-Length: 1033\r\n\r\n" + b" " * 500)
        threading.Event().wait(5 * SHORT)  # as long as the client likes
        connection.sendall(b" " * 500 + SHOW)
        assert statuses(read_all(connection)) == [200]


@pytest.mark.parametrize("sent", [b"Content-Length: 100\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n64\r\n"])
def test_a_body_that_is_too_long_is_refused_and_the_connection_goes_on(serve_on: Serve, sent: bytes) -> None:
    server = with_limits(serve_on, body_bytes=50)
    end = b"\r\n0\r\n\r\n" if b"chunked" in sent else b""
    received = server.talk(POST + sent + b" " * 100 + end, LAST)
    assert statuses(received) == [413, 200]
    assert b'"kind":"too_large"' in received


def test_a_body_as_long_as_is_allowed_is_taken(serve_on: Serve) -> None:
    server = with_limits(serve_on, body_bytes=50)
    length = b"Connection: close\r\nContent-Length: 50\r\n\r\n"
    assert statuses(server.talk(POST, length, SHOW.ljust(50))) == [200]


def test_who_goes_on_sending_much_too_much_is_cut(serve_on: Serve) -> None:
    server = with_limits(serve_on, body_bytes=1000, idle_seconds=NEVER, body_seconds=NEVER)
    with server.connect() as connection:
        connection.sendall(POST + b"Content-Length: 100000000\r\n\r\n")
        with pytest.raises(CUT):
            send_for_ever(connection, b" " * 1000)


def test_bodies_together_take_no_more_memory_than_is_allowed(serve_on: Serve) -> None:
    server = with_limits(serve_on, bodies_bytes=1000)
    with server.connect() as one, httpx.Client(base_url=server.url) as other:
        one.sendall(POST + b"Connection: close\r\nContent-Length: 1000\r\n\r\n" + b" " * 900)
        refused = other.post("/v1/commands", content=SHOW.ljust(500))
        while refused.status_code != 503:  # until the first has arrived
            refused = other.post("/v1/commands", content=SHOW.ljust(500))
        assert refused.json()["error"]["kind"] == "unavailable"
        one.sendall(SHOW.ljust(100))
        assert statuses(read_all(one)) == [200]
        accepted = other.post("/v1/commands", content=SHOW.ljust(500), headers={"content-type": "application/json"})
        assert accepted.status_code == 200


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 3000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: a\r\n" % number for number in range(200)) + b"\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"a" * 3000 + b"\r\n\r\n",
    ],
    ids=["path", "header", "headers", "trailer"],
)
def test_a_head_that_is_too_long_is_refused(serve_on: Serve, head: bytes) -> None:
    assert statuses(with_limits(serve_on, head_bytes=2000).talk(head)) == [431]


@pytest.mark.parametrize("head", [b"GET /", b"GET / HTTP/1.1\r\nX: "], ids=["path", "header"])
def test_a_head_that_does_not_end_is_refused_before_its_time_is_over(serve_on: Serve, head: bytes) -> None:
    server = with_limits(serve_on, head_bytes=2000, head_seconds=NEVER)
    with server.connect() as connection:
        connection.sendall(head)
        with pytest.raises(CUT):
            send_for_ever(connection, b"a" * 100)


def test_of_too_many_connections_the_one_that_waited_longest_is_closed(serve_on: Serve) -> None:
    server = with_limits(serve_on, connections=3, head_seconds=NEVER, idle_seconds=NEVER)
    with ExitStack() as stack:
        first, second, third = (stack.enter_context(server.connect()) for _ in range(3))
        for connection in (first, second, third, first):
            connection.sendall(LIVES)
            assert connection.recv(4096)
        assert statuses(server.talk(LAST)) == [200]
        assert read_all(second) == b""
        third.sendall(LAST)
        assert statuses(read_all(third)) == [200]


def test_a_connection_with_a_request_under_way_is_never_closed_for_others(serve_on: Serve) -> None:
    server = with_limits(serve_on, connections=2, head_seconds=NEVER, idle_seconds=NEVER)
    events = Client(server.engine).feeds.define("events")
    poll = b"GET /v1/feeds/events/records?wait_ms=60000 HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
    with server.connect() as polling:
        polling.sendall(poll)
        while not server.dispatcher._lanes.waiting._busy:
            threading.Event().wait(0.01)
        for _ in range(20):
            assert statuses(server.talk(LAST)) == [200]
        events.append("k", "v")
        assert statuses(read_all(polling)) == [200]


def test_an_answer_that_nobody_reads_is_cut(serve_on: Serve) -> None:
    server = with_limits(serve_on, unread_seconds=SHORT, idle_seconds=SHORT)
    store = Client(server.engine).state_stores.define(StateStore.named("s"))
    for number in range(20):
        store.put(f"k{number}", b"v" * 1_000_000)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(server.address)
        connection.sendall(b"GET /v1/state-stores/iterate?store=s HTTP/1.1\r\n" + HOST + b"\r\n")
        while not len(server.connections):
            threading.Event().wait(0.01)
        while len(server.connections):
            threading.Event().wait(0.01)
        assert b"\r\n0\r\n\r\n" not in read_all(connection)


def test_many_requests_at_once_are_answered_in_order(server: Server) -> None:
    none = b"GET /none HTTP/1.1\r\n" + HOST + b"\r\n"
    assert statuses(server.talk(LIVES * 50 + none + LIVES * 50 + LAST)) == [*[200] * 50, 404, *[200] * 51]


def test_what_was_accepted_is_answered_before_what_is_no_request(server: Server) -> None:
    assert statuses(server.talk(LIVES * 3 + b"no request\r\n\r\n")) == [200, 200, 200]
    broken = POST + b"Transfer-Encoding: chunked\r\n\r\nno length\r\n"
    assert statuses(server.talk(LIVES * 3 + broken)) == [200, 200, 200]


def test_a_request_for_another_protocol_is_answered_in_this_one(server: Server) -> None:
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    assert statuses(server.talk(b"GET /healthz HTTP/1.1\r\n" + HOST + upgrade + b"\r\n")) == [200]
    with_body = server.talk(POST + upgrade + b"Content-Length: 2\r\n\r\n{}")
    assert statuses(with_body) == [400]
    assert b"send it without Upgrade" in with_body


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: +4\r\n",
        b"Content-Length: 0x4\r\n",
        b"Content-Length: 99999999999999999999\r\n",
    ],
)
def test_a_body_of_doubtful_length_is_refused(server: Server, head: bytes) -> None:
    hidden = b"GET /v1/state-stores HTTP/1.1\r\n" + HOST + b"\r\n"
    assert statuses(server.talk(POST + head + b"\r\n0\r\n\r\n" + hidden)) == [400]
