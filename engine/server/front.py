"""What every request goes through before and after its route (spec: K-01, K-02).

Before: an id, who asks, whether a page of another site does, and its body, up to the limit. After: the headers of
security, a count, and a line in the log.
"""

import asyncio
import logging
import time
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from dex.engine.failures import RecentFailures
from dex.engine.server.exchange import Exchange
from dex.engine.server.guard import CONNECTION, Connection
from dex.engine.server.headers import Headers, first, with_security
from dex.engine.server.limits import TooLarge
from dex.engine.server.metrics import Metrics
from dex.engine.server.origins import refuse_other_names, refuse_other_sites
from dex.engine.server.responses import Bug, error_body, error_headers
from dex.engine.server.terms import Terms
from dex.wcl.errors import DexError, Unavailable

_log = logging.getLogger("dex.server")
# What the log and the metrics say where the client was gone before there was a status.
_GONE = 499


class Front:
    """Stands before an application."""

    def __init__(self, app: ASGIApp, metrics: Metrics, failures: RecentFailures, terms: Terms) -> None:
        self._app = app
        self._metrics = metrics
        self._failures = failures
        self._terms = terms
        self._limits = terms.limits
        self._bodies_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; pass on what is none."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        exchange = Exchange.begin(scope)
        connection: Connection = scope[CONNECTION]  # type: ignore[literal-required]  # a key of ours

        async def answer(message: Message) -> None:
            if connection.is_gone():
                return
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                message["headers"] = _completed(list(message["headers"]), exchange, is_page=scope["path"] == "/")
            await send(message)

        try:
            await self._pass_on(scope, receive, answer, exchange)
        except DexError as error:
            await _tell(answer, exchange, error)
        except asyncio.CancelledError:  # the time to finish what was accepted is over
            stopped = Unavailable("the server is being stopped", "ask again, or ask another", applied="unknown")
            await _tell(answer, exchange, stopped)
        except Exception as error:  # noqa: BLE001  # the log tells of it, and the client where to look
            await _tell(answer, exchange, Bug.logged(error, exchange.id))
        finally:
            exchange.status = exchange.status or connection.refused or _GONE
            self._note(exchange, scope["method"], time.perf_counter() - began)

    async def _pass_on(self, scope: HTTPScope, receive: Receive, send: Send, exchange: Exchange) -> None:
        headers: Headers = scope["headers"]  # type: ignore[assignment]  # the server makes a list
        if self._terms.tokens is not None:
            exchange.recognise(self._terms.tokens, headers, takes_basic=scope["method"] in ("GET", "HEAD"))
        elif not self._terms.any_name:
            refuse_other_names(headers)
        if scope["method"] != "OPTIONS":  # it asks what it may, and is told nothing
            refuse_other_sites(headers)
        body = bytearray()
        try:
            if await self._read(receive, headers, exchange, body):
                await self._app(scope, _replaying(bytes(body), receive), send)
        finally:
            self._bodies_bytes -= len(body)

    async def _read(self, receive: Receive, headers: Headers, exchange: Exchange, body: bytearray) -> bool:
        """Read a body; tell whether it is whole, and not broken off.

        Raises:
            TooLarge: it is longer than is taken.
            Unauthorized: who sends it is not known.
            Unavailable: too much is being sent at this moment.
        """
        length = first(headers, b"content-length")
        if length is None and first(headers, b"transfer-encoding") is None:
            return True
        if int(length or 0) > self._limits.body_bytes:
            raise self._too_large()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return False
            body += message["body"]
            self._bodies_bytes += len(message["body"])
            if body or message["more_body"]:
                exchange.holder  # noqa: B018  # raises
            if len(body) > self._limits.body_bytes:
                raise self._too_large()
            if self._bodies_bytes > self._limits.bodies_bytes:
                raise Unavailable("too much is being sent to this server", "try again later")
            if not message["more_body"]:
                return True

    def _too_large(self) -> TooLarge:
        return TooLarge(f"the body is longer than {self._limits.body_bytes} bytes", "send it in several requests")

    def _note(self, exchange: Exchange, method: str, seconds: float) -> None:
        self._metrics.observe(exchange.route, method, exchange.status, seconds)
        if exchange.failure is not None:
            self._failures.note(f"{method} {exchange.route}", exchange.failure)
        fields = {
            "request_id": exchange.id,
            "method": method,
            "route": exchange.route,
            "status": exchange.status,
            "ms": round(seconds * 1000, 3),
            "token": exchange.token_name,
        }
        _log.log(logging.ERROR if exchange.status == Bug.status else logging.INFO, "request", extra={"fields": fields})


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read already, then what comes after it."""
    messages: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return messages.pop() if messages else await receive()

    return again


def _completed(headers: Headers, exchange: Exchange, *, is_page: bool) -> Headers:
    """Add what every response has; a browser is asked for a password by the page alone."""
    headers.append((b"x-request-id", exchange.id.encode()))
    if exchange.status == 401:
        headers.append((b"www-authenticate", b'Basic realm="dex"' if is_page else b"Bearer"))
    return with_security(headers)


async def _tell(send: Send, exchange: Exchange, error: DexError) -> None:
    """Tell of an error, unless the response has begun: the server cuts it off then."""
    exchange.failure = error
    if exchange.status:
        return
    body = error_body(error)
    await send({"type": "http.response.start", "status": error.status, "headers": error_headers(body)})
    await send({"type": "http.response.body", "body": body, "more_body": False})
