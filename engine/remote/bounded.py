"""Requests whose time is over as a whole, however their answers arrive.

The client library begins to count anew with each byte, so that a server which trickles would never be given up.
"""

import ssl
import threading
import time
from typing import Any

import httpcore
import httpx


class _Until(threading.local):
    """When the request of this thread has to be answered, on the monotonic clock."""

    moment = float("inf")

    def left(self, timeout: float | None) -> float | None:
        """Give how many seconds there are, at most as many as were given.

        Raises:
            httpcore.ReadTimeout: none.
        """
        left = self.moment - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("no whole answer in time")
        return left if timeout is None or left < timeout else timeout


class BoundedTransport(httpx.HTTPTransport):
    """Carries requests whose read time-out is for all of the answer. An answer is read by the thread that asked."""

    def __init__(self, *, verify: ssl.SSLContext | bool, limits: httpx.Limits) -> None:
        super().__init__(verify=verify, limits=limits, trust_env=False)
        self._until = _Until()
        # There is no other way to hand this over.
        self._pool._network_backend = _Backend(self._until)  # noqa: SLF001

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and give its answer, whose body is read later."""
        seconds = request.extensions["timeout"]["read"]
        self._until.moment = float("inf") if seconds is None else time.monotonic() + seconds
        return super().handle_request(request)


class _Backend(httpcore.SyncBackend):
    """Makes connections."""

    def __init__(self, until: _Until) -> None:
        self._until = until

    def connect_tcp(self, *arguments: Any, **options: Any) -> httpcore.NetworkStream:
        return _Stream(super().connect_tcp(*arguments, **options), self._until)


class _Stream(httpcore.NetworkStream):
    """A connection."""

    def __init__(self, inner: httpcore.NetworkStream, until: _Until) -> None:
        self._inner = inner
        self._until = until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._until.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._until.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout), self._until)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
