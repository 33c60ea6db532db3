"""The document of the HTTP interface: valid, complete, and with examples that fit."""

import json
import re
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from dex.engine.server.openapi import document
from dex.engine.server.route import Route
from dex.engine.server.routes import ROUTES

pytestmark = pytest.mark.spec("K-01")

DOCUMENT = json.loads(document(ROUTES))
BY_PATH = pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")


def operation(route: Route) -> dict[str, Any]:
    return DOCUMENT["paths"][route.path][route.method.lower()]  # type: ignore[no-any-return]


def fits(example: Any, schema: dict[str, Any]) -> None:
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(example)


def test_the_document_is_valid_openapi() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    validate(DOCUMENT)


def test_it_is_served_as_it_is(http: httpx.Client) -> None:
    response = http.get("/openapi.json")
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.json() == DOCUMENT


def test_it_has_the_routes_and_no_other() -> None:
    told = {(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item}
    assert told == {(route.method, route.path) for route in ROUTES}


@BY_PATH
def test_every_part_of_a_path_is_told(route: Route) -> None:
    assert [part.name for part in route.parts] == re.findall(r"{(\w+)}", route.path)


@BY_PATH
def test_every_parameter_has_an_example_that_fits(route: Route) -> None:
    for parameter in operation(route)["parameters"]:
        assert parameter["description"]
        fits(parameter["example"], parameter["schema"])


@BY_PATH
def test_the_examples_of_body_and_result_fit(route: Route) -> None:
    told = operation(route)
    if route.body is not None:
        (content,) = told["requestBody"]["content"].values()
        fits(content["example"], content["schema"])
    ((media_type, content),) = told["responses"]["200"]["content"].items()
    if media_type != "application/x-ndjson":
        fits(content["example"], content["schema"])
        return
    for line in content["example"].splitlines():
        fits(json.loads(line), content["schema"])


@BY_PATH
def test_errors_are_told_in_one_form(route: Route) -> None:
    for status, response in operation(route)["responses"].items():
        if status != "200":
            name = response["$ref"].rpartition("/")[2]
            content = DOCUMENT["components"]["responses"][name]["content"]["application/json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Failure"}
            fits(content["example"], content["schema"])


@BY_PATH
def test_a_route_needs_a_token_unless_it_is_public(route: Route) -> None:
    told = operation(route)
    assert ("security" in told) == route.public
    assert ({"401", "403"} <= told["responses"].keys()) != route.public


def test_the_schemes_are_a_bearer_token_or_none_where_the_server_has_no_tokens() -> None:
    assert DOCUMENT["security"] == [{}, {"bearer": []}]
    assert DOCUMENT["components"]["securitySchemes"] == {"bearer": {"type": "http", "scheme": "bearer"}}
