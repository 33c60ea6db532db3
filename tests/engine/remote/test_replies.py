"""What is not a dex server, and what answers too late or by half (cases 45 to 47)."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

import dex
from dex.engine.client import Client
from dex.wcl.commands import AppendRecords, FeedRecord, PutRow, ShowStateStores
from dex.wcl.commands.flows import InvokeRpc
from dex.wcl.errors import DexError, InputError, Refused, Unavailable
from tests.certificates import make_pair

Start = Callable[[list[bytes]], str]


class Scripted:
    """A socket that answers one connection after another with what it is told, then closes it.

    Who asks whether it is there is answered beside that.
    """

    def __init__(self, answers: list[bytes]) -> None:
        self._answers = answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.requests: list[bytes] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for answer in self._answers:
            try:
                connection, request = self._accept()
            except OSError:
                return
            with connection:
                self.requests.append(request)
                connection.sendall(answer)

    def _accept(self) -> tuple[socket.socket, bytes]:
        while True:
            connection, _ = self._listener.accept()
            head, body = _read_request(connection)
            if not head.startswith(b"GET /healthz "):
                return connection, body
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def close(self) -> None:
        self._listener.close()


def _read_request(connection: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head, body


@pytest.fixture
def start() -> Iterator[Callable[[list[bytes]], Scripted]]:
    started: list[Scripted] = []

    def start_(answers: list[bytes]) -> Scripted:
        started.append(Scripted(answers))
        return started[-1]

    yield start_
    for server in started:
        server.close()


def answer(status: str, body: bytes, kind: str = "application/json", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (
        status.encode(),
        kind.encode(),
        size,
        body,
    )


def failure(client: Client, put: bool = False) -> DexError:
    command = PutRow(store="s", key=b"k") if put else ShowStateStores()
    with pytest.raises(DexError) as caught, client:
        client.execute(command)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.spec("X-01", "X-03")
@pytest.mark.parametrize(
    ("reply", "kind", "told"),
    [
        (answer("502 Bad Gateway", b"<html>no upstream</html>", "text/html"), Unavailable, "502"),
        (answer("404 Not Found", b"<html>nothing here</html>", "text/html"), Refused, "404"),
        (answer("200 OK", b'{"hello": "world"}'), Refused, "200"),
        (answer("200 OK", b"[]"), None, None),
        (answer("200 OK", b"\xff\xfe"), Refused, "200"),
        (answer("200 OK", b'[{"na', length=400), Unavailable, "truncated"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Unavailable, "not HTTP"),
        (b"", Unavailable, ""),
    ],
    ids=["html-502", "html-404", "foreign", "empty-list", "bytes", "half", "ssh", "nothing"],
)
def test_what_is_no_dex_server_is_told_in_one_line(start, reply: bytes, kind, told) -> None:
    """URL and status, or that the answer is cut short; never a traceback (case 45)."""
    server = start([reply] * 8)
    client = dex.connect(server.url, timeout=5)
    if kind is None:
        assert client.execute(ShowStateStores()) == []
        client.close()
        return
    error = failure(client)
    assert isinstance(error, kind)
    assert server.url in str(error)
    assert told in str(error)


@pytest.mark.spec("X-01")
@pytest.mark.parametrize(
    "target", ["httq://x", "http://", "http://h:0", "http://h:99999", "http://u:p@h", "http://h?q=1"]
)
def test_a_target_that_is_no_endpoint_is_refused_before_any_connection(target: str) -> None:
    """Usage, not connection (case 46)."""
    with pytest.raises(InputError, match="endpoint"):
        dex.connect(target)


@pytest.mark.spec("X-01")
def test_a_closed_port_says_connection_refused() -> None:
    """And nothing was written (case 46)."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    error = failure(dex.connect(url), put=True)
    assert isinstance(error, Unavailable)
    assert "connection refused" in str(error)
    assert "may have been applied" not in str(error)


@pytest.mark.spec("X-01")
def test_a_server_that_never_answers_ends_at_the_timeout() -> None:
    """All tries included (case 46)."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        error = failure(dex.connect(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.3))
    assert isinstance(error, Unavailable)
    assert "no answer" in str(error)


@pytest.mark.spec("X-01")
def test_a_write_whose_reply_is_lost_is_not_sent_again(start) -> None:
    """Without an id nobody can tell whether it was applied (case 47)."""
    server = start([b"", b"", b""])
    error = failure(dex.connect(server.url), put=True)
    assert isinstance(error, Unavailable)
    assert "may have been applied" in str(error)
    assert len(server.requests) == 1


@pytest.mark.spec("X-01", "K-07")
def test_a_write_that_a_gateway_answers_for_is_not_sent_to_another_server(start) -> None:
    """A 502 does not say what became of the request behind it, and a call of an RPC has no id (cases 45, 47)."""
    gateway = start([answer("502 Bad Gateway", b"<html>no upstream</html>", "text/html")])
    other = start([answer("200 OK", b"{}")])
    with dex.connect(f"{gateway.url},{other.url}") as client, pytest.raises(Unavailable) as caught:
        client.execute(InvokeRpc(flow_id="f", rpc="r"))
    assert "502" in str(caught.value)
    assert "may have been applied" in str(caught.value)
    assert other.requests == []


@pytest.mark.spec("K-07", "S-07")
def test_a_record_whose_reply_is_lost_goes_to_the_next_server_by_an_id_of_its_own(start) -> None:
    """A program that names several servers need not make ids for it (case 47)."""
    lost = start([b""])
    other = start([answer("200 OK", b'{"first_seq":7,"seq":7,"replayed":true}')])
    with dex.connect(f"{lost.url},{other.url}") as client:
        appended = client.execute(AppendRecords(feed="f", records=[FeedRecord(key=b"k")]))
    assert appended.replayed
    assert other.requests == lost.requests
    assert b'"mutation_id":"' in lost.requests[0]


@pytest.mark.spec("X-01", "S-07")
def test_a_write_with_an_id_is_sent_again_with_the_same_id(start) -> None:
    """The reply of the first is lost (case 47)."""
    written = (
        b'{"seq":7,"replayed":true,"replaced":false,'
        b'"freshness":{"applied_seq":7,"committed_seq":7,"behind":0,"served_by":"n"}}'
    )
    server = start([b"", answer("200 OK", written)])
    with dex.connect(server.url) as client:
        result = client.execute(PutRow(store="s", key=b"k", mutation_id="once"))
    assert result.seq == 7
    assert server.requests[0] == server.requests[1]
    assert b'"once"' in server.requests[0]


@pytest.mark.spec("X-01")
def test_servers_are_tried_in_turn(start) -> None:
    """A closed port costs nothing but the next one's answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = start([answer("200 OK", b"[]")] * 2)
    with dex.connect(f"{closed},{server.url}") as client:
        assert client.execute(ShowStateStores()) == []
        assert client.execute(ShowStateStores()) == []


@pytest.mark.spec("X-01", "K-07")
def test_a_server_that_hangs_leaves_time_for_the_next(start) -> None:
    """However short the time is."""
    server = start([answer("200 OK", b"[]")])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with dex.connect(f"{hanging},{server.url}", timeout=2) as client:
            assert client.execute(ShowStateStores()) == []


@pytest.mark.spec("X-01", "K-07")
def test_a_call_goes_past_a_server_that_hangs_though_it_could_not_be_repeated(start) -> None:
    """Nothing is sent to a server that does not answer at all."""
    server = start([answer("200 OK", b'{"output":7,"run_id":"r"}')])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with dex.connect(f"{hanging},{server.url}", timeout=4) as client:
            assert client.execute(InvokeRpc(flow_id="f", rpc="r")).output == 7


@pytest.mark.spec("X-01", "X-03", "K-07")
def test_an_error_tells_of_each_server_that_was_tried(start) -> None:
    """And of the write that it may have been applied, though the last one could not be reached."""
    losing = start([b""])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"http://127.0.0.1:{listener.getsockname()[1]}"
    client = dex.connect(f"{losing.url},{closed}", timeout=2)
    with pytest.raises(Unavailable, match="may have been applied") as caught, client:
        client.execute(PutRow(store="s", key=b"k", mutation_id="once"))
    assert caught.value.applied == "unknown"
    assert f"{closed}: connection refused" in str(caught.value)
    assert losing.url in str(caught.value)


@pytest.mark.spec("X-01", "K-02")
def test_a_certificate_that_is_not_trusted_says_how_it_could_be(tmp_path: Path) -> None:
    """The server runs and the address is right: to check them is no remedy."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*make_pair(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        shake_hands = partial(context.wrap_socket, server_side=True)
        threading.Thread(target=_each_connection, args=[listener, shake_hands], daemon=True).start()
        error = failure(dex.connect(f"https://127.0.0.1:{listener.getsockname()[1]}", timeout=5))
    assert "certificate is not trusted" in str(error)
    assert "SSL_CERT_FILE" in error.remedy


@pytest.mark.spec("X-01", "K-02")
def test_https_to_a_server_without_tls_says_so() -> None:
    """What answers there is no greeting of TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_each_connection, args=[listener, _refuse], daemon=True).start()
        error = failure(dex.connect(f"https://127.0.0.1:{listener.getsockname()[1]}", timeout=5))
    assert "no TLS" in str(error)
    assert "http://" in error.remedy


def _each_connection(listener: socket.socket, use: Callable[[socket.socket], object]) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                use(connection)


def _refuse(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
