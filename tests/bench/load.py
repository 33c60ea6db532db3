"""Many connections that each send one request after another, with as little work of their own as can be."""

import asyncio
import time
from collections.abc import Iterator
from typing import NamedTuple

import uvloop


class Load(NamedTuple):
    """What a load came to: the seconds in all, and those of each request, the quickest first."""

    seconds: float
    latencies: list[float]

    def percentile(self, share: float) -> float:
        """Give the latency that this share of the requests did not exceed."""
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * share))]


class _Connection(asyncio.Protocol):
    """Sends the next request when it has the whole answer to the last."""

    def __init__(self, requests: Iterator[bytes], latencies: list[float], done: "asyncio.Future[None]") -> None:
        self._requests = requests
        self._latencies = latencies
        self._done = done
        self._data = b""
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._send()

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
        if len(body) < length:
            return
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 204")):
            self._fail(ConnectionError(self._data[:300].decode(errors="replace")))
            return
        self._latencies.append(time.perf_counter() - self._began)
        self._data = b""
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionError("the server closed the connection"))

    def _send(self) -> None:
        request = next(self._requests, None)
        if request is None:
            if not self._done.done():
                self._done.set_result(None)
            self._transport.close()
            return
        self._began = time.perf_counter()
        self._transport.write(request)

    def _fail(self, error: Exception) -> None:
        if not self._done.done():
            self._done.set_exception(error)


def load(port: int, requests: list[bytes], connections: int) -> Load:
    """Send requests to a port of this machine over so many connections; all of them must succeed."""
    return uvloop.run(_load(port, iter(requests), connections))


async def _load(port: int, requests: Iterator[bytes], connections: int) -> Load:
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    done = [loop.create_future() for _ in range(connections)]
    began = time.perf_counter()
    for future in done:
        await loop.create_connection(lambda future=future: _Connection(requests, latencies, future), "127.0.0.1", port)
    await asyncio.gather(*done)
    return Load(time.perf_counter() - began, sorted(latencies))


def get(path: str) -> bytes:
    """Give a request that reads."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


def post(path: str, body: bytes) -> bytes:
    """Give a request with a body."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
