"""The two pattern APIs, as their pages tell to call them."""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.engine.server.conftest import Server

PROFILES = "/patterns/hash-partitioned-attribute-map"
SUBSCRIBERS = "/patterns/sequentially-chunked-attribute-map"
ANN = {"emailAddress": "ann@example.test", "fullName": "Ann", "companyName": "Example Ltd", "customerTier": "gold"}


@pytest.fixture
def directory(http: httpx.Client) -> str:
    return http.post(f"{PROFILES}/start").raise_for_status().json()["run_id"]


@pytest.fixture
def subscribers(http: httpx.Client) -> str:
    return http.post(f"{SUBSCRIBERS}/start").raise_for_status().json()["run_id"]


def curl(server: Server, method: str, path: str, body: Any = None) -> Any:
    """Send a request as the pages show it, with the real curl."""
    sends = ["-H", "Content-Type: application/json", "-d", json.dumps(body)] if body is not None else []
    command = ["curl", "-sS", "--fail-with-body", "-X", method, f"{server.url}{path}", *sends]
    return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=30).stdout)


@pytest.mark.spec("H-06")
def test_a_profile_that_was_put_is_found_in_any_case(http: httpx.Client, directory: str) -> None:
    put = http.put(f"{PROFILES}/customer-profile", json={**ANN, "emailAddress": " ANN@Example.test "})
    assert (put.status_code, put.json()) == (200, ANN)
    found = http.get(f"{PROFILES}/customer-profile", params={"emailAddress": "Ann@EXAMPLE.test"})
    assert (found.status_code, found.json()) == (200, ANN)


@pytest.mark.spec("H-06")
def test_starting_the_directory_again_leaves_it_as_it_is(http: httpx.Client, directory: str) -> None:
    again = http.post(f"{PROFILES}/start").json()
    assert (again["started"], again["run_id"]) == (False, directory)


@pytest.mark.spec("H-06", "H-04")
@pytest.mark.parametrize(("email", "status"), [("none@example.test", 404), ("", 400), (" ", 400), ("é@x.test", 400)])
def test_a_profile_that_is_not_there_is_404_and_no_address_is_400(
    http: httpx.Client, directory: str, email: str, status: int
) -> None:
    assert http.get(f"{PROFILES}/customer-profile", params={"emailAddress": email}).status_code == status


@pytest.mark.spec("H-06")
@pytest.mark.parametrize(
    "pattern", [f"{PROFILES}/customer-profile?emailAddress=a@b.test", f"{SUBSCRIBERS}/subscribers"]
)
def test_a_pattern_that_is_not_started_is_404(http: httpx.Client, pattern: str) -> None:
    response = http.get(pattern)
    assert response.status_code == 404
    assert "is not started" in response.json()["error"]["message"]


@pytest.mark.spec("H-05")
def test_concurrent_puts_to_one_partition_all_succeed(server: Server, http: httpx.Client, directory: str) -> None:
    def put(tier: int) -> int:
        body = {**ANN, "customerTier": str(tier)}
        return httpx.put(f"{server.url}{PROFILES}/customer-profile", json=body, timeout=30).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(put, range(32))) == {200}


@pytest.mark.spec("C-06")
def test_subscribers_are_read_page_by_page_the_newest_first(http: httpx.Client, subscribers: str) -> None:
    for number in range(1, 102):
        registered = http.post(
            f"{SUBSCRIBERS}/register", json={"subscriberId": f"s-{number}", "deliveryAddress": f"{number}@x.test"}
        )
        assert registered.json() == {
            "sequence": number, "subscriberId": f"s-{number}", "deliveryAddress": f"{number}@x.test"
        }  # fmt: skip
    newest = http.get(f"{SUBSCRIBERS}/subscribers").json()
    assert newest == http.get(f"{SUBSCRIBERS}/subscribers?pageToken=current").json()
    assert [one["sequence"] for one in newest["subscribers"]] == [101]
    assert (newest["pageToken"], newest["nextPageToken"]) == ("current", "00000000000000000001")
    oldest = http.get(f"{SUBSCRIBERS}/subscribers", params={"pageToken": newest["nextPageToken"]}).json()
    assert [one["sequence"] for one in oldest["subscribers"]] == list(range(100, 0, -1))
    assert oldest["nextPageToken"] is None


@pytest.mark.spec("C-06", "C-04")
@pytest.mark.parametrize(("token", "status"), [("x", 400), ("1", 400), ("00000000000000000101", 404)])
def test_a_malformed_token_is_400_and_one_without_a_page_404(
    http: httpx.Client, subscribers: str, token: str, status: int
) -> None:
    assert http.get(f"{SUBSCRIBERS}/subscribers", params={"pageToken": token}).status_code == status


@pytest.mark.spec("H-06", "C-06")
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_can_follow_both_pages(server: Server) -> None:
    assert curl(server, "POST", f"{PROFILES}/start")["started"]
    assert curl(server, "PUT", f"{PROFILES}/customer-profile", ANN) == ANN
    assert curl(server, "GET", f"{PROFILES}/customer-profile?emailAddress=ann@example.test") == ANN
    assert curl(server, "POST", f"{SUBSCRIBERS}/start")["started"]
    who = {"subscriberId": "s-1", "deliveryAddress": "ann@example.test"}
    assert curl(server, "POST", f"{SUBSCRIBERS}/register", who) == {"sequence": 1, **who}
    assert curl(server, "GET", f"{SUBSCRIBERS}/subscribers?pageToken=current") == {
        "pageToken": "current", "subscribers": [{"sequence": 1, **who}], "nextPageToken": None
    }  # fmt: skip
