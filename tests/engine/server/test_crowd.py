"""Thousands of clients that are idle or slow, and one that is neither (spec: K-02)."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from dex.engine.server.limits import Limits
from dex.engine.server.terms import Terms
from tests.engine.server.conftest import Serve
from tests.serveprocess import read_all

CROWD = 2000
SLOW = [
    b"",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-",
    b"POST /v1/wcl HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


@contextmanager
def files(wanted: int) -> Iterator[None]:
    """Let this process open more files meanwhile: both ends of each connection are in it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, wanted), hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.spec("K-02")
def test_a_crowd_of_slow_clients_does_not_stop_a_good_one(serve_on: Serve) -> None:
    """More come than there is room for; each good request is answered, on a kept and on a new connection."""
    long = {"head_seconds": 1000.0, "body_seconds": 1000.0, "idle_seconds": 1000.0}
    with files(2 * CROWD), ExitStack() as stack:
        server = serve_on(Terms(limits=Limits(connections=CROWD // 2, **long)))
        kept = stack.enter_context(httpx.Client(base_url=server.url, timeout=60))
        for number in range(CROWD):
            slow = stack.enter_context(socket.create_connection(server.address))
            slow.sendall(SLOW[number % len(SLOW)])
            if number % 50 == 0:
                assert kept.get("/healthz").status_code == 200
                assert httpx.get(f"{server.url}/healthz", timeout=60).status_code == 200
        assert len(server.connections) <= CROWD // 2


@pytest.mark.spec("K-02")
def test_connections_beyond_what_the_system_allows_do_not_stop_the_server(serve_on: Serve) -> None:
    """The limit is of this process, so that accepting fails for want of a file."""
    server = serve_on(Terms())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        full = stack.enter_context(socket.create_connection(server.address))
        clients = [stack.enter_context(socket.socket()) for _ in range(50)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (clients[-1].fileno() + 5, hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for client in clients:
            client.connect(server.address)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        full.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b" 200 OK" in read_all(full)
    assert httpx.get(f"{server.url}/healthz").status_code == 200
