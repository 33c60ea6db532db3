"""The HTTP application: every route of ROUTES, served by Litestar (spec: K-01)."""

from typing import Any

import msgspec
from litestar import HttpMethod, Litestar, Response
from litestar import Request as HttpRequest
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Receive, Send
from litestar.types import Scope as AsgiScope

from dex.engine.server.call import Call, check_is_json
from dex.engine.server.dispatch import Dispatcher
from dex.engine.server.route import Request, Route
from dex.engine.server.routes import ROUTES
from dex.engine.server.streaming import Lines
from dex.wcl.errors import DexError, NotFound
from dex.wcl.wire import encode
from dex.wcl.wireerrors import error_to_wire

_JSON = "application/json"
MAX_BODY_BYTES = 16 * 1024 * 1024


def make_app(dispatcher: Dispatcher) -> ASGIApp:
    """Give the application that serves the engine of a dispatcher, which it does not close."""
    app = Litestar(
        route_handlers=[_handler(route, dispatcher) for route in ROUTES],
        openapi_config=None,
        request_max_body_size=MAX_BODY_BYTES,
        exception_handlers={HTTPException: _refused_by_framework},
        logging_config=None,
    )
    return _with_raw_paths(app)


def _with_raw_paths(app: ASGIApp) -> ASGIApp:
    """Route by the path as it was sent, so that an escaped slash belongs to the name that it stands in."""

    async def routed(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            scope["path"] = scope["raw_path"].decode("ascii", "surrogateescape")
        await app(scope, receive, send)

    return routed


def _handler(route: Route, dispatcher: Dispatcher) -> HTTPRouteHandler:
    async def handle(request: HttpRequest[Any, Any, Any]) -> Response[Any]:
        try:
            _check_path(request.scope["path"])
            if route.body is not None:
                check_is_json(request.headers.get("content-type"))
            call = Call(request.path_params, request.scope["query_string"], await request.body(), route.declared)
            answer = await route.answer(call, Request(dispatcher, lambda _scope: None))
        except DexError as error:
            return error_response(error)
        if route.stream:
            return Lines(answer)
        return Response(answer if isinstance(answer, bytes) else encode(answer), media_type=route.media_type)

    path = route.path.replace("}", ":str}")
    return HTTPRouteHandler(path, http_method=HttpMethod(route.method), status_code=200)(handle)


def _check_path(path: str) -> None:
    """Refuse a path with an empty segment, which the framework passes over: an empty name would be another path.

    Raises:
        NotFound: always for such a path.
    """
    if "//" in path or (path.endswith("/") and path != "/"):
        raise NotFound("the path has an empty segment", "leave no name in it empty, and end it without a slash")


def error_response(error: DexError) -> Response[bytes]:
    """Give the response that tells of an error."""
    body = msgspec.json.encode({"error": error_to_wire(error)}, enc_hook=str)
    return Response(body, media_type=_JSON, status_code=error.status)


def _refused_by_framework(_request: HttpRequest[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Tell of what the framework refused in the form of every other error."""
    told = {"type": "Refused", "kind": "http", "message": error.detail, "remedy": "see /openapi.json"}
    return Response(msgspec.json.encode({"error": told}), media_type=_JSON, status_code=error.status_code)
