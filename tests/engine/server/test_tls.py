"""TLS: certificates that cannot be used, and clients that do not finish a handshake (spec: K-02)."""

import re
import ssl
import threading
from pathlib import Path

import httpx
import pytest

from dex.engine.server.limits import Limits
from dex.engine.server.terms import Terms
from dex.engine.server.tls import tls_context
from dex.wcl.errors import InputError
from tests.certificates import Pair, make_pair
from tests.engine.server.conftest import Serve, Server
from tests.serveprocess import read_all

pytestmark = pytest.mark.spec("K-02")

HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
NEVER = 1000.0


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return make_pair(tmp_path_factory.mktemp("pair"))


def serve_encrypted(serve_on: Serve, pair: Pair, **limits: float) -> Server:
    return serve_on(Terms(limits=Limits(**limits)), tls_context(*pair))  # type: ignore[arg-type]  # as their names say


def client_of(server: Server, pair: Pair) -> httpx.Client:
    trust = ssl.create_default_context(cafile=pair.certificate)
    return httpx.Client(base_url=server.url.replace("http:", "https:"), verify=trust, timeout=30)


def test_requests_are_answered(serve_on: Serve, pair: Pair) -> None:
    with client_of(serve_encrypted(serve_on, pair), pair) as http:
        for _ in range(3):
            assert http.get("/healthz").json() == {"status": "ok"}
        body = {"text": "SHOW FEEDS" + " " * 1_000_000}
        assert http.post("/v1/wcl", json=body).status_code == 200


def test_a_request_that_comes_with_the_end_of_the_handshake_is_answered(serve_on: Serve, pair: Pair) -> None:
    server = serve_encrypted(serve_on, pair)
    trust = ssl.create_default_context(cafile=pair.certificate)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with server.connect() as connection:
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                incoming.write(connection.recv(65536))
        client.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        connection.sendall(outgoing.read())  # together with the last part of the handshake
        while True:
            # Not to the end, for which the server waits until this side has closed as well.
            incoming.write(connection.recv(65536))
            try:
                answer = client.read(65536)
                break
            except ssl.SSLWantReadError:
                pass
        assert answer.startswith(b"HTTP/1.1 200 OK")


def test_a_handshake_that_does_not_end_is_cut(serve_on: Serve, pair: Pair) -> None:
    server = serve_encrypted(serve_on, pair, head_seconds=0.2, idle_seconds=NEVER)
    assert server.talk() == b""
    assert server.talk(HELLO) == b""


def test_handshakes_that_do_not_end_are_closed_for_the_sake_of_new_connections(serve_on: Serve, pair: Pair) -> None:
    server = serve_encrypted(serve_on, pair, connections=5, head_seconds=NEVER, idle_seconds=NEVER)
    stalled = [server.connect() for _ in range(20)]
    try:
        with client_of(server, pair) as http:
            assert http.get("/healthz").status_code == 200
        assert len(server.connections) <= 5
        assert read_all(stalled[0]) == b""
    finally:
        for connection in stalled:
            connection.close()


def test_what_is_no_tls_does_not_stop_the_server(serve_on: Serve, pair: Pair) -> None:
    server = serve_encrypted(serve_on, pair)
    for data in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x00" * 1000, HELLO + b"\xff" * 600):
        assert b"HTTP" not in server.talk(data)
    with client_of(server, pair) as http:
        assert http.get("/healthz").status_code == 200
        while len(server.connections) > 1:
            threading.Event().wait(0.01)


def test_a_stop_does_not_wait_for_handshakes(serve_on: Serve, pair: Pair) -> None:
    server = serve_encrypted(serve_on, pair, head_seconds=NEVER)
    with server.connect() as connection:
        connection.sendall(HELLO)
        while not len(server.connections):
            threading.Event().wait(0.01)
        server.stop()
        assert read_all(connection) == b""


@pytest.mark.spec("K-01")
def test_a_stop_waits_for_no_farewell_of_a_client_that_does_not_read(
    serve_on: Serve, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    """As another node does not that keeps its connection for later."""
    server = serve_encrypted(serve_on, pair, idle_seconds=NEVER)
    server.uvicorn.config.timeout_graceful_shutdown = 10
    with client_of(server, pair) as http:
        assert http.get("/healthz").status_code == 200
        assert len(server.connections) == 1
        server.stop()
    assert "graceful shutdown exceeded" not in caplog.text


def test_a_certificate_or_key_that_cannot_be_used_is_refused(tmp_path: Path, pair: Pair) -> None:
    other, locked = make_pair(tmp_path, "other"), make_pair(tmp_path, "locked", "secret")
    (tmp_path / "text").write_text("no PEM")
    for certificate, key in (
        (pair.certificate, other.key),
        (locked.certificate, locked.key),
        (tmp_path / "text", pair.key),
        (pair.certificate, tmp_path / "text"),
        (pair.key, pair.certificate),
    ):
        with pytest.raises(InputError, match=f"^cannot use the certificate {re.escape(str(certificate))} with the key"):
            tls_context(certificate, key)


def test_a_certificate_or_key_that_cannot_be_read_is_named(tmp_path: Path, pair: Pair) -> None:
    for files in ((tmp_path / "none", pair.key), (pair.certificate, tmp_path / "none")):
        with pytest.raises(InputError, match=f"^cannot read {re.escape(str(tmp_path))}/none: No such file"):
            tls_context(*files)
