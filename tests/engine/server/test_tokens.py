"""Tokens: who may do what, and the file that says so."""

import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import dex
from dex.engine.server.terms import Terms
from dex.engine.server.tokens import Tokens
from dex.samples import customer_directory
from dex.samples.chunked_subscribers import ChunkedSubscribers
from dex.samples.customer_directory import CustomerDirectory
from dex.wcl.errors import Forbidden, InputError, Unauthorized
from tests.engine.server.conftest import Serve

pytestmark = pytest.mark.spec("K-02")

READ, WRITE, ADMIN = ("r" * 32, "w" * 32, "a" * 32)
THREE = f"""
- {{name: reader, token: {READ}, scope: read}}
- {{name: writer, token: {WRITE}, scope: write}}
- {{name: admin, token: {ADMIN}, scope: admin}}
"""
SHOW = {"text": "SHOW STATESTORES"}
DEFINE = {"text": "DEFINE STATESTORE s"}
PUT = {"command": "put_row", "store": "s", "key": {"bytes": "aw=="}, "payload": {"bytes": "dg=="}}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.yaml"
    write(path, THREE)
    return path


def write(path: Path, text: str) -> None:
    """Replace a file as editors do, so that it is another one for sure."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.chmod(0o600)
    new.replace(path)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def is_known(tokens: Tokens, token: str) -> bool:
    try:
        tokens.holder(b"Bearer " + token.encode(), takes_basic=False)
    except Unauthorized:
        return False
    return True


@pytest.fixture
def http(file: Path, serve_on: Serve) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=serve_on(Terms(tokens=Tokens(file))).url, timeout=30) as client:
        yield client


@pytest.mark.parametrize("path", ["/v1/state-stores", "/metrics", "/v1/feeds"])
def test_who_is_not_known_is_asked_for_a_token(http: httpx.Client, path: str) -> None:
    wrong = ["Bearer " + "x" * 32, f"Token {READ}", f"Bearer {READ}x", f"Bearer {READ[1:]}", "Bearer", ""]
    for headers in ({}, *({"authorization": value} for value in wrong)):
        response = http.get(path, headers=headers)
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json()["error"]["kind"] == "unauthorized"


def test_a_body_of_who_is_not_known_is_not_even_looked_at(http: httpx.Client) -> None:
    assert http.post("/v1/wcl", content=b"no JSON at all").status_code == 401
    assert http.post("/v1/wcl", json=DEFINE, headers=bearer("x" * 32)).status_code == 401


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json"])
def test_what_machines_ask_needs_no_token(http: httpx.Client, path: str) -> None:
    assert http.get(path).status_code == 200
    assert http.get(path, headers=bearer("x" * 32)).status_code == 200


@pytest.mark.parametrize(
    ("token", "shows", "puts", "defines"), [(READ, 200, 403, 403), (WRITE, 200, 200, 403), (ADMIN, 200, 200, 200)]
)
def test_each_scope_allows_what_it_says(http: httpx.Client, token: str, shows: int, puts: int, defines: int) -> None:
    http.post("/v1/wcl", json=DEFINE, headers=bearer(ADMIN)).raise_for_status()
    assert http.get("/v1/state-stores", headers=bearer(token)).status_code == shows
    assert http.post("/v1/wcl", json=SHOW, headers=bearer(token)).status_code == shows
    assert http.post("/v1/commands", json=PUT, headers=bearer(token)).status_code == puts
    assert http.post("/v1/commands", json=[{"command": "show_feeds"}, PUT], headers=bearer(token)).status_code == puts
    assert http.post("/v1/wcl", json=DEFINE, headers=bearer(token)).status_code == defines


def test_a_scope_that_is_too_small_is_named_with_what_is_needed(http: httpx.Client) -> None:
    error = http.post("/v1/wcl", json=DEFINE, headers=bearer(READ)).json()["error"]
    assert error["kind"] == "forbidden"
    assert error["scope"] == "admin"
    assert "has read" in error["message"]


def test_one_statement_that_is_not_allowed_keeps_all_from_running(http: httpx.Client) -> None:
    commands = [PUT | {"command": "put_row"}, {"command": "drop_state_store", "name": "s"}]
    http.post("/v1/wcl", json=DEFINE, headers=bearer(ADMIN)).raise_for_status()
    assert http.post("/v1/commands", json=commands, headers=bearer(WRITE)).status_code == 403
    assert http.get("/v1/state-stores/s/rows/k", headers=bearer(READ)).status_code == 404


@pytest.mark.spec("H-06", "C-06")
def test_who_may_read_reads_the_patterns_by_every_door(http: httpx.Client) -> None:
    """By their pages, and by an application of its own as `dex profile get` is one."""
    for pattern in ("hash-partitioned", "sequentially-chunked"):
        path = f"/patterns/{pattern}-attribute-map/start"
        http.post(path, headers=bearer(WRITE)).raise_for_status()
    profile = customer_directory.CustomerProfile("ann@example.test", "Ann", "Example", "gold")
    with dex.connect(str(http.base_url), token=WRITE) as writer:
        CustomerDirectory(writer).upsert(profile)
        ChunkedSubscribers(writer).register("s-1", "ann@example.test")
    with dex.connect(str(http.base_url), token=READ) as reader:
        assert CustomerDirectory(reader).get("ann@example.test") == profile
        assert [one.subscriber_id for one in ChunkedSubscribers(reader).page("current").subscribers] == ["s-1"]
        with pytest.raises(Forbidden):
            CustomerDirectory(reader).upsert(profile)


def test_a_browser_may_read_with_a_token_as_its_password_and_change_nothing(http: httpx.Client) -> None:
    assert http.get("/v1/state-stores", auth=("anybody", READ)).status_code == 200
    assert http.post("/v1/wcl", json=SHOW, auth=("anybody", ADMIN)).status_code == 401


def test_a_password_that_is_no_password_is_not_known(http: httpx.Client) -> None:
    for value in ("Basic", "Basic !!!", "Basic " + "x" * 5):
        assert http.get("/v1/state-stores", headers={"authorization": value}).status_code == 401


def test_a_changed_file_is_read_again_a_second_later(file: Path) -> None:
    clock = Clock()
    tokens = Tokens(file, clock)
    write(file, f"- {{name: new, token: {'n' * 32}, scope: read}}")
    clock.now = 0.9
    assert is_known(tokens, READ)
    clock.now = 1.1
    assert not is_known(tokens, READ)
    assert is_known(tokens, "n" * 32)


@pytest.mark.spec("K-02", "K-07")
def test_nodes_are_known_by_the_secret_that_their_cluster_has_now(file: Path) -> None:
    """It is another one where that was lost."""
    tokens, secrets = Tokens(file), ["first"]
    tokens.admit_nodes(lambda: secrets[-1])
    assert is_known(tokens, "first")
    secrets.append("second")
    assert is_known(tokens, "second")
    assert not is_known(tokens, "first")
    secrets.append("")
    assert not is_known(tokens, "")


@pytest.mark.parametrize("bad", ["", "- {name: new}", "::", None])
def test_a_bad_new_file_leaves_the_tokens_as_they_were(
    file: Path, bad: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    tokens = Tokens(file, clock)
    if bad is None:
        file.unlink()
    else:
        write(file, bad)
    with caplog.at_level(logging.WARNING, "dex.server"):
        for _ in range(3):
            clock.now += 2
            assert is_known(tokens, WRITE)
    assert [record.message.partition(":")[0] for record in caplog.records] == ["the tokens stay as they were"]
    write(file, f"- {{name: new, token: {'n' * 32}, scope: read}}")
    clock.now += 2
    assert is_known(tokens, "n" * 32)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("- {name: a, token: %s}" % READ, 1, "name, token and scope"),  # noqa: UP031
        ("- {name: a, token: %s, scope: raed}" % READ, 1, "read"),  # noqa: UP031
        (f"- {{name: a, token: {READ}, scope: read, more: 1}}", 1, "name, token and scope"),
        (f"- {{name: a, token: {READ}, scope: read}}\n- {{name: a, token: {WRITE}, scope: read}}", 2, "twice"),
        (f"- {{name: a, token: {READ}, scope: read}}\n- {{name: b, token: {READ}, scope: read}}", 2, "another name"),
        (f"- {{name: a, token: {READ}, scope: read}}\n-\n  name: b\n  token: short\n  scope: read", 4, "16 to 512"),
        (f"- {{name: a b, token: {READ}, scope: read}}", 1, "the name"),
        (f"- {{name: a, token: [{READ}], scope: read}}", 1, "16 to 512"),
        (f"- {READ}", 1, "name, token and scope"),
        (f"{{name: a, token: {READ}}}", 1, "name, token and scope"),
        ("\n- {name: a", 2, "not YAML"),
    ],
)
def test_a_fault_in_the_file_is_told_with_its_line_and_shows_no_token(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    file = tmp_path / "tokens.yaml"
    write(file, text)
    with pytest.raises(InputError) as refused:
        Tokens(file)
    assert f"{file}:{line}: " in str(refused.value)
    assert words in str(refused.value)
    assert READ not in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", "# nothing yet\n", "null"])
def test_a_file_without_tokens_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path / "tokens.yaml", text)
    with pytest.raises(InputError, match="has no tokens"):
        Tokens(tmp_path / "tokens.yaml")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
def test_a_file_that_others_may_use_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(InputError, match=f"has mode {mode:04o}.*chmod 600"):
        Tokens(file)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        Tokens(tmp_path / "missing")
    with pytest.raises(InputError, match="cannot read"):
        Tokens(tmp_path)
