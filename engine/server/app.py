"""The HTTP application: every route of ROUTES, served by Litestar (spec: K-01)."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

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
from dex.engine.server.health import Health
from dex.engine.server.metrics import Metrics
from dex.engine.server.responses import Bug, error_body
from dex.engine.server.route import Request, Route
from dex.engine.server.routes import ROUTES
from dex.engine.server.statuspage import StatusPage
from dex.engine.server.streaming import Lines
from dex.engine.server.terms import Terms
from dex.engine.server.tokens import ANYBODY, check
from dex.wcl.errors import DexError, NotFound
from dex.wcl.scopes import Scope
from dex.wcl.wire import encode

if TYPE_CHECKING:
    from dex.engine.server.syncing import Syncing

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
    metrics = Metrics(dispatcher, connections, syncing)
    health = Health(dispatcher, syncing)
    failures = RecentFailures(SystemClock())
    page = StatusPage(dispatcher, failures, syncing)

    def request(may: Callable[[Scope], None]) -> Request:
        return Request(dispatcher, may, health, metrics, page)

    app = Litestar(
        route_handlers=[
            *(_options_handler(path) for path in {route.path for route in ROUTES}),
            *(_handler(route, request) for route in ROUTES),
        ],
        openapi_config=None,
        request_max_body_size=None,
        exception_handlers={HTTPException: _refused_by_framework, Exception: _failed},
        logging_config=None,
    )
    return Front(_with_raw_paths(app), metrics, failures, terms or Terms())


def _with_raw_paths(app: ASGIApp) -> ASGIApp:
    """Route by the path as it was sent, so that an escaped slash belongs to the name that it stands in."""

    async def routed(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            scope["path"] = scope["raw_path"].decode("ascii", "surrogateescape")
        await app(scope, receive, send)

    return routed


def _handler(route: Route, make_request: Callable[[Callable[[Scope], None]], Request]) -> HTTPRouteHandler:
    async def handle(request: HttpRequest[Any, Any, Any]) -> Response[Any]:
        exchange = Exchange.of(request.scope)
        exchange.route = route.path
        try:
            may = _permission(route, exchange)
            _check_path(request.scope["raw_path"])
            if route.body is not None:
                check_is_json(request.headers.get("content-type"))
            call = Call(request.path_params, request.scope["query_string"], await request.body(), route.declared)
            asked = make_request(may)
            if route.stream:
                asked.dispatcher.streams.check()
            answer = await route.answer(call, asked)
        except DexError as error:
            exchange.failure = error
            return error_response(error)
        if route.stream:
            return Lines(answer, asked.dispatcher.streams)
        content = answer if isinstance(answer, bytes) else encode(answer)
        return Response(content, media_type=route.media_type, headers=route.headers)

    return HTTPRouteHandler(_template(route.path), http_method=HttpMethod(route.method), status_code=200)(handle)


def _options_handler(path: str) -> HTTPRouteHandler:
    """Tell the methods of a path; the framework's own forgets all but one."""
    allow = ", ".join([*sorted(route.method for route in ROUTES if route.path == path), "OPTIONS"])

    async def handle() -> Response[None]:
        return Response(None, status_code=204, headers={"allow": allow})

    return HTTPRouteHandler(_template(path), http_method=HttpMethod.OPTIONS, status_code=204)(handle)


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


def error_response(error: DexError) -> Response[bytes]:
    """Give the response that tells of an error."""
    return Response(error_body(error), media_type=_JSON, status_code=error.status)


def _refused_by_framework(_request: HttpRequest[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Tell of what the framework refused in the form of every other error."""
    if error.status_code == 404:
        return error_response(NotFound("there is no such path", "GET /openapi.json tells of all there are"))
    told = {"type": "Refused", "kind": "http", "message": error.detail, "remedy": "see /openapi.json"}
    body = msgspec.json.encode({"error": told})
    return Response(body, media_type=_JSON, status_code=error.status_code, headers=error.headers)


def _failed(request: HttpRequest[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Tell of what nobody foresaw."""
    exchange = Exchange.of(request.scope)
    exchange.failure = Bug.logged(error, exchange.id)
    return error_response(exchange.failure)
