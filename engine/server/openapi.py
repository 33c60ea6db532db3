"""The OpenAPI 3.1 document, made from the routes and the types that they name (spec: K-01)."""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from dex import __version__
from dex.engine.server.call import Parameter
from dex.engine.server.route import Route
from dex.engine.server.streaming import NDJSON
from dex.wcl.schema import schemas_of
from dex.wcl.wire import encode, to_json

_JSON = "application/json"
_DESCRIPTION = """\
Durable StateStores, Feeds and Flows over HTTP.

Keys and payloads are bytes: as JSON they are text where they are UTF-8, else `{"bytes": "<base64>"}`. In a path a
slash that belongs to a name is written `%2F`. Streams are newline-delimited JSON; an error in the middle of one is its
last line. A path that takes no such method answers 405, and any error has the form of `Failure`. Who waits for a
certain time only sends it as `X-Dex-Timeout`, in seconds, and is told then what holds the answer up.
"""
_TAGS = {
    "commands": "Any statement of WCL and any typed command.",
    "state-stores": "Reading StateStores.",
    "feeds": "Reading and following Feeds.",
    "flows": "Looking at Flows, and waiting for them.",
    "sync": "What the Attribute Stores have not been told of.",
    "patterns": "The two pattern APIs.",
    "server": "The server itself.",
}
_ERRORS = {
    400: "The request is wrong, or a handler of a Flow failed (`kind` is `failed`); nothing was changed.",
    401: "There is no bearer token, or it is not known.",
    403: "The token's scope does not allow it.",
    404: "What was asked for is not there.",
    408: "The request did not arrive in time.",
    409: "The request lost against another one; `reason` says how.",
    412: "The target is in a state in which this is not allowed.",
    413: "The body is too large.",
    431: "The path or the headers are too long.",
    503: "The engine cannot answer now, or what was waited for has not happened; try again.",
}
_TEXT = {"type": "string"}
_FAILURE = {
    "description": "The answer to a request that fails; facts such as names and numbers come besides.",
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"type": _TEXT, "kind": _TEXT, "message": _TEXT, "remedy": _TEXT},
            "required": ["type", "kind", "message", "remedy"],
        }
    },
    "required": ["error"],
}
_TYPES = {str: "string", bytes: "string", int: "integer", bool: "boolean"}


def document(routes: Sequence[Route]) -> bytes:
    """Give the document of some routes as JSON."""
    return msgspec.json.encode(_document(routes))


def _document(routes: Sequence[Route]) -> dict[str, Any]:
    types = [kind for route in routes for kind in (route.result, route.body)]
    schemas, named = schemas_of(types, "#/components/schemas/{name}")
    paths: dict[str, Any] = {}
    for route, result, body in zip(routes, schemas[::2], schemas[1::2], strict=True):
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, result, body)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dex",
            "version": __version__,
            "description": _DESCRIPTION,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        # A server that was given no tokens asks for none.
        "security": [{}, {"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": {**named, "Failure": _FAILURE},
            "responses": {_name(status): _failure(text) for status, text in _ERRORS.items()},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, result: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Give a route's part of the document, with the schemas of its result and body."""
    told: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "description": _needed(route),
        "tags": [route.tag],
        "parameters": [
            *(_parameter(part, "path") for part in route.parts),
            *(_parameter(parameter, "query") for parameter in route.parameters),
        ],
        "responses": {"200": _result(route, result)}
        | {str(status): {"$ref": f"#/components/responses/{_name(status)}"} for status in _statuses(route)},
    }
    if route.public:
        told["security"] = []
    if route.body is not None:
        content = {"schema": body, "example": to_json(route.body_example)}
        told["requestBody"] = {"required": True, "content": {_JSON: content}}
    return told


def _operation_id(route: Route) -> str:
    """Give the method and path as one name."""
    return re.sub(r"[^a-z0-9]+", "_", f"{route.method} {route.path}".lower()).strip("_")


def _needed(route: Route) -> str:
    if route.public:
        return "Needs no token."
    return f"Needs the scope {route.scope}." if route.scope else "Needs the scope of what the body asks for."


def _parameter(parameter: Parameter, place: str) -> dict[str, Any]:
    bounds = {"minimum": parameter.least, "maximum": parameter.most, "default": parameter.default}
    schema: dict[str, Any] = {"type": _TYPES[parameter.type]} | {
        name: value for name, value in bounds.items() if value is not None
    }
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if place == "path":
        schema["minLength"] = 1
    return {
        "name": parameter.name,
        "in": place,
        "description": parameter.description,
        "required": place == "path" or parameter.required,
        "schema": {"type": "array", "items": schema} if parameter.repeated else schema,
        "example": [parameter.example] if parameter.repeated else parameter.example,
    }


def _result(route: Route, schema: dict[str, Any]) -> dict[str, Any]:
    if route.stream:
        content = {"schema": schema, "example": encode(route.result_example).decode() + "\n"}
        return {"description": "Lines of JSON; the schema is that of one.", "content": {NDJSON: content}}
    content = {"schema": schema, "example": to_json(route.result_example)}
    return {"description": "What was asked for.", "content": {route.media_type: content}}


def _statuses(route: Route) -> list[int]:
    """Give the statuses of errors that a route may answer with."""
    found = {400, 408, 413, 431, 503, *route.errors}
    if not route.public:
        found |= {401, 403}
    if route.parts:
        found.add(404)  # an empty part makes it another path
    return sorted(found)


def _name(status: int) -> str:
    return HTTPStatus(status).phrase.title().replace(" ", "")


def _failure(description: str) -> dict[str, Any]:
    example = {"type": "Unavailable", "kind": "unavailable", "message": "what failed", "remedy": "what to do next"}
    content = {"schema": {"$ref": "#/components/schemas/Failure"}, "example": {"error": example}}
    return {"description": description, "content": {_JSON: content}}
