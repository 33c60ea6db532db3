"""What whoever runs a server asks of it, and what it tells of requests."""

import asyncio
import logging
import sqlite3
import threading

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from dex.engine.client import Client
from dex.engine.server.dispatch import Dispatcher
from dex.engine.server.health import Health
from dex.engine.server.terms import Terms
from dex.engine.sqlite.connection import SCHEMA_VERSION
from dex.engine.statestore import StateStore
from dex.wcl.commands import ShowStateStores
from dex.wcl.errors import RequestTimeoutError, RPCLockConflict, Unavailable
from tests.engine.server.conftest import Serve, Server

SYNC_METRICS = {
    "dexzd_attribute_sync_backlog_entries",
    "dexzd_attribute_sync_oldest_pending_age_seconds",
    "dexzd_attribute_sync_write_failures",
    "dexzd_attribute_sync_dropped_entries",
    "dexzd_attribute_sync_fenced_writes",
}


def samples(http: httpx.Client) -> dict[str, dict[tuple[str, ...], float]]:
    """Give every sample of /metrics, by its name and the values of its labels in the order of their names."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(http.get("/metrics").text):
        for sample in family.samples:
            values = tuple(value for _, value in sorted(sample.labels.items()))
            found.setdefault(sample.name, {})[values] = sample.value
    return found


@pytest.mark.spec("K-01")
def test_a_server_that_lives_says_so(http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"status": "ok"}


@pytest.mark.spec("K-01")
def test_a_server_that_can_write_is_ready(http: httpx.Client) -> None:
    assert http.get("/readyz").json() == {"ready": True, "schema_version": SCHEMA_VERSION, "sync": "off"}


@pytest.mark.spec("K-01")
def test_a_server_that_cannot_write_is_not_ready_and_says_why(server: Server, http: httpx.Client) -> None:
    Client(server.engine).feeds.define("f")
    other = sqlite3.connect(server.engine.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    response = http.get("/readyz")
    other.close()
    assert response.status_code == 503
    assert "is busy" in response.json()["error"]["reasons"][0]


@pytest.mark.spec("K-01")
def test_a_server_whose_file_was_migrated_by_a_newer_dex_is_not_ready(server: Server, http: httpx.Client) -> None:
    Client(server.engine).feeds.define("f")
    with sqlite3.connect(server.engine.path) as other:
        other.execute("PRAGMA user_version=99")
    other.close()
    response = http.get("/readyz")
    assert response.status_code == 503
    assert "schema 99" in response.json()["error"]["reasons"][0]


@pytest.mark.spec("K-01")
def test_readiness_costs_a_commit_a_second_at_most(server: Server, http: httpx.Client) -> None:
    http.get("/readyz").raise_for_status()
    before = server.engine.vitals().commits
    for _ in range(20):
        http.get("/readyz").raise_for_status()
    assert server.engine.vitals().commits - before < 20


@pytest.mark.spec("K-01")
def test_metrics_count_requests_by_route_method_and_status(http: httpx.Client) -> None:
    for name in ("a", "b", "c"):
        assert http.get(f"/v1/state-stores/{name}").status_code == 400
    http.post("/v1/wcl", json={"text": "DEFINE STATESTORE s"}).raise_for_status()
    http.get("/made/up").close()
    http.request("MADEUP", "/healthz").close()
    counts = samples(http)["dex_http_request_seconds_count"]
    assert counts["GET", "/v1/state-stores/{name}", "400"] == 3
    assert counts["POST", "/v1/wcl", "200"] == 1
    assert counts["GET", "(none)", "404"] == 1
    assert not any("made" in value.lower() for labels in counts for value in labels)


@pytest.mark.spec("K-01")
def test_metrics_tell_of_commits_and_sizes(server: Server, http: httpx.Client) -> None:
    server.engine._housekeeping._stopping.set()  # its passes are commits as well
    store = Client(server.engine).state_stores.define(StateStore.named("s"))
    before = samples(http)
    store.put("k", b"x" * 100_000)
    after = samples(http)
    assert after["dex_commits_total"][()] == before["dex_commits_total"][()] + 1
    assert after["dex_journal_bytes"][()] >= before["dex_journal_bytes"][()] + 100_000
    assert after["dex_database_bytes"][()] > before["dex_database_bytes"][()]
    assert after["dex_http_connections"][()] == 1


@pytest.mark.spec("Y-24")
def test_metrics_have_the_five_of_sync(http: httpx.Client) -> None:
    families = {family.name for family in text_string_to_metric_families(http.get("/metrics").text)}
    assert families >= SYNC_METRICS


@pytest.mark.spec("K-01")
def test_calls_that_meet_a_lock_are_counted(
    server: Server, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(_command: object) -> None:
        raise RPCLockConflict("locked", "try again")

    monkeypatch.setattr(server.engine, "execute", locked)
    http.post("/v1/commands", json={"command": "show_feeds"}).close()
    http.post("/v1/commands", json=[{"command": "show_feeds"}] * 2).close()
    monkeypatch.undo()
    assert samples(http)["dex_lock_conflicts_total"][()] == 3


@pytest.mark.spec("K-02")
@pytest.mark.parametrize("path", ["/healthz", "/v1/state-stores", "/v1/state-stores/none", "/none", "/metrics"])
def test_every_response_has_the_headers_of_security(http: httpx.Client, path: str) -> None:
    headers = http.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
    assert not any(name.startswith("access-control-") for name in headers)


@pytest.mark.spec("K-02")
def test_what_is_no_request_is_answered_with_them_too(server: Server) -> None:
    received = server.talk(b"no request\r\n\r\n")
    assert b"x-content-type-options: nosniff\r\n" in received
    assert b'"kind":"syntax"' in received


@pytest.mark.spec("K-02")
def test_a_page_of_another_site_is_refused(http: httpx.Client) -> None:
    for origin in ("http://elsewhere.test", "null", str(http.base_url).replace("127.0.0.1", "localhost")):
        response = http.post("/v1/wcl", json={"text": "SHOW FEEDS"}, headers={"origin": origin})
        assert response.status_code == 403
        assert response.json()["error"]["kind"] == "forbidden"
    own = {"origin": str(http.base_url).rstrip("/")}
    assert http.post("/v1/wcl", json={"text": "SHOW FEEDS"}, headers=own).status_code == 200


@pytest.mark.spec("K-02")
def test_a_server_of_this_machine_alone_answers_to_no_other_name(serve_on: Serve) -> None:
    with httpx.Client(base_url=serve_on(Terms(any_name=False)).url) as http:
        for name in ("localhost", "localhost:7171", "dex.localhost", "127.0.0.1", "[::1]:7171"):
            assert http.get("/healthz", headers={"host": name}).status_code == 200
        for name in ("elsewhere.test", "localhost.elsewhere.test:7171", "127.0.0.1.elsewhere.test"):
            assert http.get("/healthz", headers={"host": name}).status_code == 403


@pytest.mark.spec("K-01")
@pytest.mark.parametrize("given", ["abc-1._Z", "x" * 64])
def test_a_valid_request_id_is_kept(http: httpx.Client, given: str) -> None:
    assert http.get("/healthz", headers={"x-request-id": given}).headers["x-request-id"] == given


@pytest.mark.spec("K-01")
@pytest.mark.parametrize("given", ["", "x" * 65, 'a"b', "a b", "{}"])
def test_another_request_id_is_replaced(http: httpx.Client, given: str) -> None:
    made = {http.get("/healthz", headers={"x-request-id": given}).headers["x-request-id"] for _ in range(3)}
    assert len(made) == 3
    assert given not in made


@pytest.mark.spec("K-01")
def test_a_bug_is_told_with_the_request_id_and_logged_with_its_place(
    server: Server, http: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_command: object) -> None:
        raise RuntimeError("s3cret")

    monkeypatch.setattr(server.engine, "execute", broken)
    response = http.get("/v1/state-stores", headers={"x-request-id": "abc"})
    assert response.status_code == 500
    assert response.json()["error"]["request_id"] == "abc"
    assert "s3cret" not in response.text
    (record,) = [record for record in caplog.records if record.exc_info]
    assert record.fields == {"request_id": "abc"}  # type: ignore[attr-defined]  # ours
    assert "in broken" in logging.Formatter().format(record)
    monkeypatch.undo()
    assert http.get("/v1/state-stores").status_code == 200


@pytest.mark.spec("K-02")
def test_a_request_that_takes_too_long_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()

    async def ask() -> None:
        dispatcher = Dispatcher(server.engine, seconds=0.05)
        try:
            await dispatcher.execute(ShowStateStores())
        finally:
            end.set()
            dispatcher.close()

    monkeypatch.setattr(server.engine, "execute", lambda _command: end.wait())
    with pytest.raises(RequestTimeoutError, match="may or may not be carried out"):
        asyncio.run(ask())


@pytest.mark.spec("K-02", "X-03")
def test_who_waits_for_less_is_told_in_time(
    http: httpx.Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done to the server meanwhile goes on."""
    end = threading.Event()
    monkeypatch.setattr(server.engine, "execute", lambda _command: end.wait())
    answer = http.get("/v1/state-stores", headers={"x-dex-timeout": "0.2"})
    end.set()
    assert (answer.status_code, answer.json()["error"]["kind"]) == (503, "unavailable")
    assert "this takes longer than the 0.2 s that were given" in answer.json()["error"]["message"]


@pytest.mark.spec("K-02")
@pytest.mark.parametrize("told", ["soon", "-1", "1e3", ""])
def test_a_time_that_is_no_number_is_refused(http: httpx.Client, told: str) -> None:
    answer = http.get("/v1/state-stores", headers={"x-dex-timeout": told})
    assert answer.status_code == 400
    assert "X-Dex-Timeout is not a number of seconds" in answer.json()["error"]["message"]


@pytest.mark.spec("K-01")
def test_sync_that_has_ended_makes_a_server_unready(server: Server) -> None:
    class Ended:
        error = "the store is gone"
        state = "standby"

    async def ask() -> None:
        await Health(server.dispatcher, Ended()).readiness()  # type: ignore[arg-type]  # what it asks of it

    with pytest.raises(Unavailable, match="sync has ended: the store is gone"):
        asyncio.run(ask())
