"""Requests that are wrong: each is refused in the form of every other error, and says what to do."""

import socket

import httpx
import pytest

from dex.engine.client import Client
from dex.engine.statestore import StateStore
from tests.engine.server.conftest import Server

pytestmark = pytest.mark.spec("K-01")

JSON = {"content-type": "application/json"}


def refused(response: httpx.Response, status: int, *words: str) -> None:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert {"type", "kind", "message", "remedy"} <= error.keys()
    for word in words:
        assert word in error["message"] + error["remedy"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"[]", "Expected"),
        (b"null", "Expected"),
        (b'{"text": 1}', "$.text"),
        (b'{"text": "SHOW FEEDS", "more": 1}', "more"),
        (b'{"text": "SHOW FEEDS", "text": "SHOW FEEDS"}', "twice"),
        (b'{"text": "\xff"}', "UTF-8"),
        (b'{"text": "SHOW"}', "STATESTORES"),
        (b"[" * 100_000, "nested"),
    ],
)
def test_a_body_that_does_not_fit_is_refused(http: httpx.Client, body: bytes, words: str) -> None:
    refused(http.post("/v1/wcl", content=body, headers=JSON), 400, words)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", None])
@pytest.mark.parametrize("path", ["/v1/wcl", "/v1/commands"])
def test_a_body_that_is_not_told_to_be_json_is_refused(http: httpx.Client, path: str, content_type: str | None) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    refused(http.post(path, content=b'{"text": "SHOW FEEDS"}', headers=headers), 400, "Content-Type: application/json")


def test_json_may_be_told_with_a_charset(http: httpx.Client) -> None:
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    assert http.post("/v1/wcl", content=b'{"text": "SHOW FEEDS"}', headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/v1/feeds?limit=1", "this path takes none"),
        ("/v1/flows?statu=running", "did you mean status?"),
        ("/v1/flows?status=bogus", "running"),
        ("/v1/flows?limit=ten", "whole number"),
        ("/v1/flows?limit=1&limit=2", "twice"),
        ("/v1/flows?limit=0", "1 to 1000"),
        ("/v1/flows?limit=99999999999999999999", "1 to 1000"),
        ("/v1/flows?attr=Status", "attr=NAME=text"),
        ("/v1/flows?attr=:=1", "attr=NAME=text"),
        ("/v1/flows?attr=n:=%7B", "not JSON"),
        ("/v1/flows?attr=n:=1&attr=n=2", "twice"),
        ("/v1/flows?type=%FF", "UTF-8"),
        ("/v1/flows?%FF=1", "UTF-8"),
        ("/v1/state-stores/iterate", "?store="),
        ("/v1/state-stores/s/rows/k?strict=yes", "true or false"),
        ("/v1/state-stores/s/by/k/:=%7B", "not JSON"),
        ("/v1/state-stores/%FF", "UTF-8"),
        ("/v1/feeds/" + "a" * 256, "255"),
        ("/v1/state-stores/s/rows/" + "a" * 4097, "4096"),
        ("/v1/feeds/f/records?wait_ms=600001", "10m"),
        ("/v1/feeds/f/records?after=-1", "0 to"),
        ("/v1/feeds/f/tail?after=-1", "0 to"),
        ("/v1/sync/totals?after=9223372036854775808", "0 to"),
    ],
)
def test_a_path_or_query_that_does_not_fit_is_refused(http: httpx.Client, path: str, words: str) -> None:
    refused(http.get(path), 400, words)


def test_bytes_that_are_not_ascii_may_be_sent_as_they_are(server: Server) -> None:
    Client(server.engine).state_stores.define(StateStore.named("é"))
    told = raw(server, b"GET /v1/state-stores/\xc3\xa9 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert told.split(b"\r\n", 1)[0] in (b"HTTP/1.1 200 OK", b"HTTP/1.1 400 Bad Request")
    assert b"Internal" not in told


def raw(server: Server, request: bytes) -> bytes:
    """Send bytes as they are and give all that comes back."""
    with socket.create_connection(server.address, timeout=30) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("key", [b"a/b", b"a//b", b"..", b"a b+c", b"%2F", b"\x00", b"\xff\xfe", "ü".encode(), b"?#&="])
def test_any_key_can_stand_in_a_path(http: httpx.Client, server: Server, key: bytes) -> None:
    store = Client(server.engine).state_stores.define(StateStore.named("s"))
    store.put(key, b"found")
    escaped = "".join(f"%{byte:02X}" for byte in key)
    assert http.get(f"/v1/state-stores/s/rows/{escaped}").json()["payload"] == "found"
    page = http.get(f"/v1/state-stores/s/rows?after={escaped}").json()
    assert page["rows"] == []


@pytest.mark.parametrize(
    "path", ["/v1/flows//state", "/v1/state-stores/s/rows/", "/v1/feeds/", "/v1//feeds", "/nope", "/v1"]
)
def test_a_path_that_is_none_is_404_and_no_other(http: httpx.Client, path: str) -> None:
    refused(http.get(path), 404)


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "PUT", "POST", "TRACE"])
def test_a_method_that_a_path_does_not_take_is_405_with_those_it_does(http: httpx.Client, method: str) -> None:
    response = http.request(method, "/v1/feeds")
    refused(response, 405, "GET, HEAD")
    assert "GET" in response.headers["allow"].split(", ")


@pytest.mark.parametrize("path", ["/healthz", "/v1/feeds", "/", "/v1/state-stores/s/rows/nobody", "/v1/feeds/none"])
def test_head_gives_what_get_does_without_the_body(http: httpx.Client, path: str) -> None:
    """Load balancers and `curl -I` ask so."""
    head, get = http.head(path), http.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers["content-length"] == get.headers["content-length"]
    assert head.headers["content-type"] == get.headers["content-type"]


@pytest.mark.parametrize("path", ["/v1/wcl", "/v1/feeds/f/tail"])
def test_head_is_refused_where_there_is_no_get_that_ends(http: httpx.Client, path: str) -> None:
    response = http.head(path)
    assert (response.status_code, response.content) == (405, b"")


def test_options_tells_the_methods_and_allows_no_other_site(http: httpx.Client) -> None:
    response = http.options("/patterns/hash-partitioned-attribute-map/customer-profile")
    assert (response.status_code, response.headers["allow"]) == (204, "GET, HEAD, PUT, OPTIONS")
    assert not [name for name in response.headers if name.startswith("access-control-")]


def test_an_unknown_method_is_refused(server: Server) -> None:
    told = raw(server, b"BREW /v1/feeds HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 4")
    assert b'"error"' in told
