"""`dex serve` as people run it: a process with a log, tokens, TLS and signals."""

import base64
import re
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from dex.engine.client import connect
from dex.wcl.commands import GetRow, StoreRow
from tests.acceptance.conftest import Dex
from tests.certificates import make_pair
from tests.directories import fast_directory
from tests.postgres import Database, database, postgres
from tests.serveprocess import ServeProcess, read_all, serving_process

FLOW = """
import threading
from pathlib import Path
from dex import Context, Flow, RPCResult, rpc

class Slow(Flow[None]):
    @rpc()
    def wait(self, context: Context, folder: str) -> RPCResult[str]:
        Path(folder, "began").touch()
        while not Path(folder, "end").exists():
            threading.Event().wait(0.01)
        return RPCResult("done")
"""
__all__ = ["database", "postgres"]

SAMPLES = Path(__file__).parents[2] / "samples"
HOST = b"Host: localhost\r\n"
LIVES = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
TOKEN = "0123456789abcdef" * 2

Serve = Callable[..., ServeProcess]


@pytest.fixture
def home() -> Iterator[Path]:
    with fast_directory() as path:
        yield path


@pytest.fixture
def serve(home: Path) -> Iterator[Serve]:
    """Run `dex serve` with arguments, in `home` with the data directory `data` in it."""
    with ExitStack() as stack:

        def run(*arguments: str | Path, **options: Any) -> ServeProcess:
            return stack.enter_context(serving_process(home, *arguments, **options))

        yield run


def put(url: str, number: int) -> int:
    """Put a row of its own, on a connection of its own, and give the status."""
    key = base64.b64encode(b"k%d" % number).decode()
    command = {"command": "put_row", "store": "s", "key": {"bytes": key}, "payload": {"bytes": key}}
    return httpx.post(f"{url}/v1/commands", json=command, timeout=60).status_code


def wait_until_refused(url: str) -> None:
    """Ask until no connection is taken any more."""
    while True:
        try:
            httpx.get(f"{url}/healthz").close()
        except httpx.ConnectError:
            return
        except httpx.TransportError:  # it stood in line, not accepted yet, when the server stopped to listen
            continue


def tokens_in(home: Path, *, mode: int = 0o600) -> Path:
    path = home / "tokens.yaml"
    path.write_text(f"- {{name: operator, token: {TOKEN}, scope: admin}}\n")
    path.chmod(mode)
    return path


@pytest.mark.spec("K-01")
def test_sigterm_lets_a_call_that_is_under_way_end(home: Path, serve: Serve) -> None:
    (home / "slow.py").write_text(FLOW)
    server = serve("--flows", "slow.py")
    commands = f"{server.url}/v1/commands"
    httpx.post(commands, json={"command": "start_flow", "type": "Slow", "flow_id": "f"}).raise_for_status()
    with ThreadPoolExecutor(1) as pool:
        call = {"command": "invoke_rpc", "flow_id": "f", "rpc": "wait", "input": str(home)}
        answer = pool.submit(httpx.post, commands, json=call, timeout=60)
        while not (home / "began").exists():
            threading.Event().wait(0.01)
        server.send(signal.SIGTERM)
        wait_until_refused(server.url)
        (home / "end").touch()
        assert answer.result().status_code == 200
    assert server.process.wait(60) == 0


@pytest.mark.spec("K-01")
def test_sigterm_ends_a_long_poll_early_and_in_order(serve: Serve) -> None:
    server = serve()
    httpx.post(f"{server.url}/v1/wcl", json={"text": "DEFINE FEED f"}).raise_for_status()
    with server.connect() as connection:
        connection.sendall(LIVES + b"GET /v1/feeds/f/records?wait_ms=600000 HTTP/1.1\r\n" + HOST + b"\r\n")
        first = b""
        while b'{"status":"ok"}' not in first:  # then the long poll, next in line, has begun
            received = connection.recv(65536)
            assert received, first
            first += received
        server.send(signal.SIGTERM)
        received = read_all(connection)
    assert received.startswith(b"HTTP/1.1 503 ")
    assert b"the server is being stopped" in received
    assert server.process.wait(60) == 0


@pytest.mark.spec("K-01")
def test_what_was_acknowledged_before_sigterm_is_there(home: Path, serve: Serve) -> None:
    server = serve()
    httpx.post(f"{server.url}/v1/wcl", json={"text": "DEFINE STATESTORE s"}).raise_for_status()
    acknowledged: list[int] = []

    def put_until_refused(first: int) -> None:
        for number in range(first, first + 1_000_000):
            try:
                status = put(server.url, number)
            except httpx.TransportError:
                return
            if status == 200:
                acknowledged.append(number)

    with ThreadPoolExecutor(4) as pool:
        for first in range(4):
            pool.submit(put_until_refused, first * 1_000_000)
        while len(acknowledged) < 20:
            threading.Event().wait(0.01)
        assert server.stop() == 0
    with connect(home / "data") as client:
        keys = [GetRow(store="s", key=b"k%d" % number) for number in acknowledged]
        assert all(isinstance(row, StoreRow) for row in client.commands(keys))


@pytest.mark.spec("K-01")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_the_exit_code_says_who_ended_it(serve: Serve, number: int, code: int) -> None:
    server = serve()
    with server.connect() as idle:
        assert server.stop(number) == code
        assert read_all(idle) == b""
    assert "Traceback" not in server.text


@pytest.mark.spec("K-01")
def test_a_second_server_on_the_port_names_the_first(home: Path, dex: Dex, serve: Serve) -> None:
    """Case 48."""
    server = serve()
    port = server.address[1]
    done = dex("serve", "--port", str(port), "--data-dir", "other")
    assert done.code == 4
    assert f"port {port} of 127.0.0.1 is taken by process {server.process.pid} (dex)" in done.err
    assert "choose another --port" in done.err


@pytest.mark.spec("K-01")
def test_a_second_server_on_the_data_directory_names_the_first(home: Path, dex: Dex, serve: Serve) -> None:
    """Case 48."""
    server = serve()
    done = dex("serve", "--port", "0", "--data-dir", str(home / "data"))
    assert done.code == 4
    assert f"is served already by process {server.process.pid} on {server.url}" in done.err
    assert server.stop() == 0
    again = serve(name="again")
    assert httpx.get(f"{again.url}/readyz").status_code == 200


@pytest.mark.spec("K-01")
def test_a_server_that_was_killed_leaves_its_port_and_directory_to_the_next(serve: Serve) -> None:
    first = serve()
    first.process.kill()
    first.process.wait()
    second = serve(port=first.address[1], name="again")
    assert httpx.get(f"{second.url}/readyz").status_code == 200


@pytest.mark.spec("K-01")
def test_each_request_is_a_line_that_shows_nothing_of_what_was_sent(home: Path, serve: Serve) -> None:
    server = serve("--tokens", tokens_in(home))
    with httpx.Client(base_url=server.url, headers={"authorization": f"Bearer {TOKEN}"}) as http:
        http.post("/v1/wcl", json={"text": "DEFINE STATESTORE s3cret"}).raise_for_status()
        http.get("/v1/state-stores/s3cret/rows/s3cret?strict=true", headers={"x-request-id": "mine"}).close()
        http.get("/s3cret?s3cret=s3cret", headers={"authorization": "Bearer s3cret"}).close()
    assert server.stop() == 0
    assert "s3cret" not in server.text
    assert TOKEN not in server.text
    wcl, row, none = server.requests
    assert {"time", "level", "message", "request_id", "method", "route", "status", "ms", "token"} == wcl.keys()
    assert (wcl["method"], wcl["route"], wcl["status"], wcl["token"]) == ("POST", "/v1/wcl", 200, "operator")
    assert (row["request_id"], row["route"]) == ("mine", "/v1/state-stores/{name}/rows/{key}")
    assert (none["route"], none["status"], none["token"]) == ("(none)", 404, None)


@pytest.mark.spec("K-01")
def test_quiet_leaves_what_went_wrong(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    server = ServeProcess(home, "-q", "--tokens", tokens_in(home), port=port)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=httpx.HTTPTransport(retries=50)) as http:
            while True:
                try:
                    http.get("/healthz").raise_for_status()
                    break
                except httpx.ConnectError:
                    assert server.process.poll() is None, server.text
            assert server.text == ""
            (home / "tokens.yaml").write_text("nothing like it")
            while not server.text:
                http.get("/v1/feeds", headers={"authorization": "Bearer x"}).close()
        assert server.stop() == 0
        assert [line["level"] for line in server.lines] == ["warning"]
    finally:
        server.process.kill()
        server.process.wait()


@pytest.fixture
def shop(database: Database) -> Iterator[dict[str, str]]:
    """The environment of a server that syncs samples/synced_orders.py to a database."""
    database.execute("DROP TABLE dexzd_attribute_sync_fencing")
    role = f"writer_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    database.execute((SAMPLES / "sync.sql").read_text().replace(" TO dex;", f" TO {role};"))
    yield {
        "DEX_FLOWS": str(SAMPLES / "synced_orders.py"),
        "DEX_SYNC_CONFIG": str(SAMPLES / "sync.yaml"),
        "DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS": database.dsn,
    }
    database.execute(f"DROP OWNED BY {role}")
    database.execute(f"DROP ROLE {role}")


@pytest.mark.spec("K-01", "Y-24")
def test_a_server_syncs_and_tells_of_it(shop: dict[str, str], database: Database, serve: Serve) -> None:
    server = serve(environ=shop)
    with httpx.Client(base_url=server.url) as http:
        attributes = {"CustomerName": "Ann"}
        start = {"command": "start_flow", "type": "SyncedOrderFlow", "flow_id": "order-17", "attributes": attributes}
        http.post("/v1/commands", json=start | {"attribute_stores": ["orders"]}).raise_for_status()
        while database.rows("SELECT customer_name FROM orders WHERE order_id = '17'") != [("Ann",)]:
            threading.Event().wait(0.01)
        assert http.get("/readyz").json()["sync"] == "owner"
        metrics = ""
        while "dexzd_attribute_sync_backlog_entries 0.0\n" not in metrics:  # it is as of the last scan
            metrics = http.get("/metrics").text
    assert "dexzd_attribute_sync_fenced_writes_total 0.0\n" in metrics
    assert server.stop() == 0
    assert any("this process writes to the stores" in line["message"] for line in server.lines)


@pytest.mark.spec("K-02")
def test_others_than_this_machine_need_a_token_and_tls(home: Path, dex: Dex, serve: Serve) -> None:
    pair = make_pair(home)
    tokens, tls = ("--tokens", str(tokens_in(home))), ("--tls-cert", str(pair.certificate), "--tls-key", str(pair.key))
    for host in ("0.0.0.0", "::"):
        for given in ((), tokens, tls):
            done = dex("serve", "--port", "0", "--host", host, *given)
            assert done.code == 1
            assert re.search(rf"others than this machine can reach {re.escape(host)}.*--insecure", done.err)
    assert "https://0.0.0.0:" in serve("--host", "0.0.0.0", *tokens, *tls).url


@pytest.mark.spec("K-02")
def test_insecure_lets_them_in_without(serve: Serve) -> None:
    server = serve("--host", "0.0.0.0", "--insecure")
    port = server.address[1]
    assert httpx.get(f"http://127.0.0.1:{port}/v1/feeds", headers={"host": "any.test"}).status_code == 200


@pytest.mark.spec("K-02", "X-01")
def test_commands_reach_a_server_with_tokens(home: Path, dex: Dex, serve: Serve) -> None:
    server = serve("--tokens", tokens_in(home))
    target = ("--endpoint", server.url)
    assert dex("feed", "define", "f", *target).code == 1
    assert dex("feed", "define", "f", *target, "--token", "x" * 32).code == 1
    dex.ok("feed", "define", "f", *target, "--token", TOKEN)


@pytest.mark.spec("K-02")
def test_a_server_with_tls_answers_who_trusts_its_certificate(home: Path, serve: Serve) -> None:
    pair = make_pair(home)
    server = serve("--tls-cert", pair.certificate, "--tls-key", pair.key)
    trust = ssl.create_default_context(cafile=pair.certificate)
    assert httpx.get(f"{server.url}/healthz", verify=trust).json() == {"status": "ok"}
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"{server.url}/healthz")
    assert server.stop() == 0
    assert "Traceback" not in server.text


@pytest.mark.spec("K-02")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--tls-cert", "none.pem"), "--tls-key is missing"),
        (("--tls-key", "none.pem"), "--tls-cert is missing"),
        (("--tls-cert", "none.pem", "--tls-key", "none.pem"), "cannot read none.pem: No such file"),
        (("--tokens", "none.yaml"), "cannot read none.yaml: No such file"),
        (("--port", "99999"), "99999 is not in the range"),
        (("--port", "-1"), "-1 is not in the range"),
        (("--tokens", "open.yaml"), "open.yaml has mode 0644, so that others may use its tokens; chmod 600 open.yaml"),
        (("--tokens", "bad.yaml"), "bad.yaml:2: an entry has not name, token and scope"),
    ],
)
def test_bad_options_are_told_in_one_line(dex: Dex, arguments: tuple[str, ...], words: str) -> None:
    (dex.home / "open.yaml").write_text("[]")
    (dex.home / "open.yaml").chmod(0o644)
    (dex.home / "bad.yaml").write_text("\n- name: a\n")
    (dex.home / "bad.yaml").chmod(0o600)
    done = dex("serve", "--port", "0", *arguments)
    assert done.code == 2
    assert words in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.spec("K-01")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--host", "192.0.2.1", "--insecure"), "cannot listen on 192.0.2.1"),
        (("--host", "no.such.name.test", "--insecure"), "cannot listen on no.such.name.test"),
        (("--host", "\udcff", "--insecure"), "cannot listen on"),
    ],
)
def test_an_address_that_cannot_be_used_is_told(dex: Dex, arguments: tuple[str, ...], words: str) -> None:
    done = dex("serve", *arguments)
    assert done.code == 1
    assert words in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.spec("K-01", "FL-17")
def test_a_flow_source_that_cannot_be_loaded_is_told_in_the_log(serve: Serve) -> None:
    """Whoever asks for a type that is missing cannot load it: the remedy is the server's."""
    server = serve("--flows", "nowhere.py")
    start = {"command": "start_flow", "type": "Slow", "flow_id": "f"}
    error = httpx.post(f"{server.url}/v1/commands", json=start).json()["error"]
    assert "dex serve" in error["remedy"]
    (told,) = [line for line in server.lines if line["level"] == "warning"]
    assert "nowhere.py" in told["message"]


@pytest.mark.spec("K-02", "X-05")
@pytest.mark.parametrize("scope", ["read", "write"])
def test_smoke_with_a_token_that_allows_too_little_leaves_nothing(
    home: Path, serve: Serve, dex: Dex, scope: str
) -> None:
    """It says which scope it needs, once, and has started no Flow that it may not purge."""
    path = tokens_in(home)
    path.write_text(f"{path.read_text()}- {{name: less, token: {TOKEN[::-1]}, scope: {scope}}}\n")
    server = serve("--tokens", path)
    dex.environ.update(DEX_ENDPOINT=server.url, DEX_TOKEN=TOKEN[::-1])
    done = dex("smoke")
    assert (done.code, [check["status"] for check in done.json]) == (1, ["ok", "failed"])
    assert "scope admin" in done.json[1]["detail"]
    assert dex.ok("flow", "search").json["flows"] == []
