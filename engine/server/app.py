"""The HTTP application: every route of ROUTES, served by Litestar (spec: K-01)."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from litestar import HttpMethod, Litestar, Response
from litestar import Request as HttpRequest
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Receive, Send
from litestar.types import Scope as AsgiScope

from dex.engine.clock import SystemClock
from dex.engine.failures import RecentFailures
from dex.engine.server.call import Call, check_is_json
from dex.engine.server.dispatch import Dispatcher
from dex.engine.server.exchange import Exchange
from dex.engine.server.front import Front
from dex.engine.server.headers import Headers, first
from dex.engine.server.health import Health
from dex.engine.server.metrics import Metrics
from dex.engine.server.responses import Bug, error_body, error_headers, respond
from dex.engine.server.route import Request, Route
from dex.engine.server.routes import ROUTES
from dex.engine.server.statuspage import StatusPage
from dex.engine.server.streaming import send_lines
from dex.engine.server.terms import Terms
from dex.engine.server.timeouts import take_timeout
from dex.engine.server.tokens import ANYBODY, check
from dex.wcl.errors import DexError, NotFound
from dex.wcl.scopes import Scope
from dex.wcl.wire import encode

if TYPE_CHECKING:
    from dex.engine.server.syncing import Syncing

MakeRequest: TypeAlias = Callable[[Callable[[Scope], None]], Request]

_JSON = "application/json"


def make_app(
    dispatcher: Dispatcher,
    terms: Terms | None = None,
    *,
    connections: Callable[[], int] = lambda: 0,
    syncing: "Syncing | None" = None,
) -> ASGIApp:
    """Give the application that serves the engine of a dispatcher, which it does not close.

    `connections` tells how many are open, for the metrics.
    """
    seen = syncing or dispatcher.engine.sync
    metrics = Metrics(dispatcher, connections, syncing)
    health = Health(dispatcher, seen)
    failures = RecentFailures(SystemClock())
    page = StatusPage(dispatcher, failures, seen)

    def request(may: Callable[[Scope], None]) -> Request:
        return Request(dispatcher, may, health, metrics, page, _document)

    app = Litestar(
        route_handlers=[
            _handler(path, _Path([route for route in ROUTES if route.path == path], request))
            for path in dict.fromkeys(route.path for route in ROUTES)
        ],
        openapi_config=None,
        request_max_body_size=None,
        exception_handlers={HTTPException: _refused_by_framework, Exception: _failed},
        logging_config=None,
    )
    return Front(_with_raw_paths(app), metrics, failures, terms or Terms())


@cache
def _document() -> bytes:
    from dex.engine.server.openapi import document

    return document(ROUTES)


def _with_raw_paths(app: ASGIApp) -> ASGIApp:
    """Route by the path as it was sent, so that an escaped slash belongs to the name that it stands in."""

    async def routed(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            scope["path"] = scope["raw_path"].decode("ascii", "surrogateescape")
        await app(scope, receive, send)

    return routed


class _Path:
    """Answers the requests of one path: each method by its route, and OPTIONS with the methods there are.

    HEAD is GET, whose body the server leaves out; a stream, which may never end, takes none.

    The framework is given it as an ASGI application, which costs a request half as much as its own responses do.
    """

    def __init__(self, routes: Sequence[Route], make_request: MakeRequest) -> None:
        self._routes = {str(route.method): route for route in routes}
        if "GET" in self._routes and not self._routes["GET"].stream:
            self._routes["HEAD"] = self._routes["GET"]
        self._allow = ", ".join([*sorted(self._routes), "OPTIONS"]).encode()
        self._make_request = make_request

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        method = scope["method"]  # type: ignore[typeddict-item]  # the framework sends requests alone here
        route = self._routes.get(method)
        if route is not None:
            await self._answer(route, scope, receive, send)
        elif method == "OPTIONS":
            await respond(send, 204, [(b"allow", self._allow)], b"")
        else:
            headers, body = _told("this path takes no such method", f"use one of {self._allow.decode()}")
            await respond(send, 405, [*headers, (b"allow", self._allow)], body)

    async def _answer(self, route: Route, scope: Any, receive: Receive, send: Send) -> None:
        exchange = Exchange.of(scope)
        exchange.route = route.path
        try:
            may = _permission(route, exchange)
            _check_path(scope["raw_path"])
            take_timeout(scope["headers"])
            if route.body is not None:
                check_is_json(_text(first(scope["headers"], b"content-type")))
            body = (await receive())["body"]  # type: ignore[typeddict-item]  # it was read whole before
            asked = self._make_request(may)
            if route.stream:
                asked.dispatcher.streams.check()
            answer = await route.answer(Call(scope["path_params"], scope["query_string"], body, route.declared), asked)
        except DexError as error:
            exchange.failure = error
            content = error_body(error)
            await respond(send, error.status, error_headers(content), content)
            return
        if route.stream:
            await send_lines(answer, asked.dispatcher.streams, receive, send)
            return
        content = answer if isinstance(answer, bytes) else encode(answer)
        await respond(send, 200, route.response_headers(len(content)), content)


def _handler(path: str, answers: _Path) -> HTTPRouteHandler:
    def handle() -> ASGIApp:
        return answers

    return HTTPRouteHandler(_template(path), http_method=list(HttpMethod), sync_to_thread=False)(handle)


def _template(path: str) -> str:
    """Give a path as the framework writes it."""
    return path.replace("}", ":str}")


def _permission(route: Route, exchange: Exchange) -> Callable[[Scope], None]:
    """Give what refuses a scope that who asks does not have; the route's own is asked for at once.

    Raises:
        Unauthorized: who asks is not known.
        Forbidden: the route needs more.
    """
    may = partial(check, (ANYBODY if route.public else exchange.holder).scope)
    if route.scope is not None:
        may(route.scope)
    return may


def _check_path(path: bytes) -> None:
    """Refuse a path with an empty segment, which the framework passes over: an empty name would be another path.

    Raises:
        NotFound: always for such a path.
    """
    if b"//" in path or (path.endswith(b"/") and path != b"/"):
        raise NotFound("the path has an empty segment", "leave no name in it empty, and end it without a slash")


def _refused_by_framework(_request: HttpRequest[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Tell of what the framework refused in the form of every other error."""
    if error.status_code == 404:
        return _response(NotFound("there is no such path", "GET /openapi.json tells of all there are"))
    _, body = _told(error.detail)
    return Response(body, media_type=_JSON, status_code=error.status_code, headers=error.headers)


def _failed(request: HttpRequest[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Tell of what nobody foresaw."""
    exchange = Exchange.of(request.scope)
    exchange.failure = Bug.logged(error, exchange.id)
    return _response(exchange.failure)


def _response(error: DexError) -> Response[bytes]:
    return Response(error_body(error), media_type=_JSON, status_code=error.status)


def _text(header: bytes | None) -> str | None:
    return None if header is None else header.decode("latin-1")


def _told(detail: str, remedy: str = "see /openapi.json") -> tuple[Headers, bytes]:
    """Give the headers and the document of what the framework, and no part of the engine, refuses."""
    told = {"type": "Refused", "kind": "http", "message": detail, "remedy": remedy}
    body = msgspec.json.encode({"error": told})
    return error_headers(body), body
