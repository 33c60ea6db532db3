"""Feeds over HTTP: pages and tails."""

import json
from collections.abc import Iterator

import httpx
import pytest

from dex.engine.client import Client
from dex.engine.feed import Feed
from tests.engine.server.conftest import Server

pytestmark = pytest.mark.spec("K-01")


@pytest.fixture
def feed(server: Server) -> Feed:
    """A feed with three records."""
    feed = Client(server.engine).feeds.define("accounts.events")
    for number in (1, 2, 3):
        feed.append(f"k{number}", f"p{number}", {"n": str(number)})
    return feed


def lines(response: httpx.Response) -> Iterator[dict[str, object]]:
    return (json.loads(line) for line in response.iter_lines())


def test_feeds_are_listed_and_described(http: httpx.Client, feed: Feed) -> None:
    assert http.get("/v1/feeds").json() == [{"name": "accounts.events", "stage": "active", "stores": []}]
    told = http.get("/v1/feeds/accounts.events").json()
    assert (told["records"], told["last_seq"]) == (3, 3)


def test_records_are_read_in_pages(http: httpx.Client, feed: Feed) -> None:
    page = http.get("/v1/feeds/accounts.events/records", params={"after": 1, "limit": 1}).json()
    assert page == {"records": [{"seq": 2, "key": "k2", "metadata": {"n": "2"}, "payload": "p2"}], "next": 2}


def test_an_empty_page_waits_for_a_record(http: httpx.Client, server: Server, feed: Feed) -> None:
    with httpx.stream("GET", f"{server.url}/v1/feeds/accounts.events/tail"):
        assert http.get("/v1/feeds/accounts.events/records", params={"after": 3, "wait_ms": 1}).json()["records"] == []


def test_a_tail_gives_what_is_there_and_then_what_comes(server: Server, feed: Feed) -> None:
    with httpx.stream("GET", f"{server.url}/v1/feeds/accounts.events/tail?after=1") as response:
        assert response.headers["content-type"] == "application/x-ndjson"
        tail = lines(response)
        assert [next(tail)["seq"], next(tail)["seq"]] == [2, 3]
        feed.append("k4", b"\xff")
        assert next(tail) == {"seq": 4, "key": "k4", "metadata": {}, "payload": {"bytes": "/w=="}}


def test_a_tail_starts_at_the_end_by_default(server: Server, feed: Feed) -> None:
    with httpx.stream("GET", f"{server.url}/v1/feeds/accounts.events/tail") as response:
        feed.append("new")
        assert next(lines(response))["key"] == "new"


def test_a_tail_of_a_feed_that_is_dropped_ends_with_the_error(server: Server, feed: Feed) -> None:
    with httpx.stream("GET", f"{server.url}/v1/feeds/accounts.events/tail") as response:
        feed.drop()
        (line,) = lines(response)
    assert isinstance(line["error"], dict)
    assert line["error"]["kind"] == "refused"


def test_a_tail_of_a_feed_that_is_not_there_is_refused(http: httpx.Client) -> None:
    response = http.get("/v1/feeds/none/tail")
    assert (response.status_code, response.json()["error"]["reason"]) == (400, "unknown_feed")
