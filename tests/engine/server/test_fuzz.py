"""Bytes that are no HTTP, or not quite, from clients that may stop at any moment: nothing of it stops the server."""

import random
import socket
from contextlib import suppress

import httpx
import pytest

from tests.directories import fast_directory
from tests.serveprocess import ServeProcess, read_all, serving_process

pytestmark = pytest.mark.spec("K-02")

ROUNDS = 600
# Of each, what is right and what is not.
METHODS = ([b"GET", b"POST", b"PUT"], [b"HEAD", b"OPTIONS", b"CONNECT", b"PRI", b"get", b"\x00", b""])
PATHS = (
    [b"/healthz", b"/v1/wcl", b"/v1/commands", b"/v1/state-stores/%2e%2e/rows/%00", b"/metrics", b"/v1/feeds/%ff"],
    [
        b"/",
        b"//",
        b"*",
        b"/%zz",
        b"/\xff",
        b"http://elsewhere.test/v1",
        b"http://",
        b"/?" + b"&" * 999,
        b"/" + b"a" * 9000,
    ],
)
VERSIONS = ([b"HTTP/1.1"], [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9", b""])
ENDS = ([b"\r\n"], [b"\n", b"\r"])
FIELDS = (
    [
        b"Host: localhost",
        b"Connection: close",
        b"Connection: keep-alive, Upgrade",
        b"Upgrade: h2c",
        b"Expect: 100-continue",
        b"Content-Length: 5",
        b"Content-Length: 28",
        b"Content-Length: 0",
        b"Transfer-Encoding: chunked",
        b"Content-Type: application/json",
        b"Authorization: Basic \xff",
        b"X-Request-Id: \xff\xfe",
    ],
    [
        b"Host: elsewhere.test",
        b"Origin: http://elsewhere.test",
        b"Content-Length: -1",
        b"Content-Length: 5, 5",
        b"Content-Length: 99999999999",
        b"Content-Length: 18446744073709551621",
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding:\x0bchunked",
        b"Transfer-Encoding: chunked, identity",
        b" folded",
        b"No colon",
        b": empty",
        b"X\x00: y",
        b"X: \x00",
        b"X: " + b"y" * 40_000,
    ],
)
BODIES = (
    [
        b"",
        b"hello",
        b'{"text": "SHOW STATESTORES"}',
        b"5\r\nhello\r\n0\r\n\r\n",
        b'1c\r\n{"text": "SHOW STATESTORES"}\r\n0\r\nX: y\r\n\r\n',
    ],
    [
        b"5\r\nhel",
        b"-1\r\n",
        b"fffffffff\r\n",
        b"5;ext=" + b"a" * 9000 + b"\r\nhello\r\n0\r\n\r\n",
        b"0\r\n" + b"X: y\r\n" * 500 + b"\r\n",
        b"zz\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)


def one_of(rng: random.Random, kinds: tuple[list[bytes], list[bytes]]) -> bytes:
    """Give mostly what is right."""
    return rng.choice(kinds[rng.random() < 0.1])


def request(rng: random.Random) -> bytes:
    line = b" ".join(one_of(rng, kinds) for kinds in (METHODS, PATHS, VERSIONS))
    fields = [one_of(rng, FIELDS) for _ in range(rng.randrange(5))] * rng.choice([1] * 20 + [60])
    return one_of(rng, ENDS).join([line, b"Host: localhost", *fields, b"", b""]) + one_of(rng, BODIES)


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Change some bytes, or leave the end out."""
    changed = bytearray(data)
    for _ in range(rng.choice([0, 0, 1, 5, 50])):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.3 else changed)


def attack(rng: random.Random, server: ServeProcess) -> None:
    """Send something on a connection of its own, in pieces or at once, and leave in one of several ways."""
    data = b"".join(damaged(rng, request(rng)) for _ in range(rng.choice([1, 1, 2, 30])))
    if rng.random() < 0.2:
        data = rng.randbytes(rng.choice([1, 100, 100_000]))
    pieces = rng.choice([1, 1, 2, 7])
    size = len(data) // pieces + 1
    with suppress(OSError), server.connect() as connection:
        for start in range(0, len(data), size):
            connection.sendall(data[start : start + size])
        connection.settimeout(0.05)
        leave = rng.randrange(4)
        if leave == 0:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # a reset
        elif leave == 1:
            connection.shutdown(socket.SHUT_WR)
            read_all(connection)
        elif leave == 2:
            connection.recv(100)


def test_no_bytes_stop_the_server() -> None:
    rng = random.Random(20)
    with fast_directory() as home, serving_process(home) as server:
        for _ in range(ROUNDS):
            attack(rng, server)
        with httpx.Client(base_url=server.url) as http:
            assert http.get("/healthz").json() == {"status": "ok"}
            assert http.post("/v1/wcl", json={"text": "DEFINE STATESTORE s"}).status_code == 200
        assert [line for line in server.lines if line["level"] != "info"] == []
        assert 500 not in {line["status"] for line in server.requests}
        assert server.stop() == 0
