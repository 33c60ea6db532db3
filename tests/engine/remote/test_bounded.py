"""Servers that trickle: an answer that arrives byte by byte ends with its time."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from dex.engine.local import LocalEngine
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.wcl.commands import DefineFeed, ShowStateStores
from dex.wcl.errors import Unavailable
from tests.serving import serving

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n"
_TIMES = 400

Answer = Callable[[socket.socket, threading.Event], None]


@contextmanager
def _server(answer: Answer) -> Iterator[str]:
    """Give the address of a server that answers each connection so, and see that it was left before it ended."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            answer(connection, over)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert not over.is_set()
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()


def _trickles_its_head(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
    _for_long(over, lambda: connection.sendall(b"x"))


def _trickles_its_body(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(65536)
    connection.sendall(_ANSWER)
    _for_long(over, lambda: connection.sendall(b" "))


def _for_long(over: threading.Event, work: Callable[[], object]) -> None:
    """Do something until the end is told; far longer than any request here has, that is told in its place."""
    for _ in range(_TIMES):
        if over.wait(0.05):
            return
        work()
    over.set()


@pytest.mark.spec("K-04", "X-01")
@pytest.mark.parametrize("answer", [_trickles_its_head, _trickles_its_body])
def test_an_answer_that_trickles_ends_with_its_time(answer: Answer) -> None:
    with _server(answer) as url:
        engine = RemoteEngine(parse_endpoints(url), timeout=1.0)
        with pytest.raises(Unavailable, match="no answer in time"):
            engine.execute(ShowStateStores())
        engine.close()


@pytest.mark.spec("K-07", "X-01")
def test_a_server_that_trickles_is_passed_by(tmp_path: Path) -> None:
    """For what may be sent twice and for what may not."""
    local = LocalEngine(tmp_path)
    with _server(_trickles_its_head) as first, serving(local) as second:
        engine = RemoteEngine(parse_endpoints(f"{first},{second}"), timeout=4.0)
        assert engine.execute(ShowStateStores()) == []
        assert engine.execute(DefineFeed(name="f")).status == "created"
        engine.close()
    local.close()
