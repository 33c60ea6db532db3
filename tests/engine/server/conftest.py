"""Fixtures of the server tests: a server of its own for each test, on a port of its own, and an HTTP client of it."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ssl import SSLContext

import httpx
import pytest

from dex.engine.local import LocalEngine
from dex.engine.server.dispatch import Dispatcher
from dex.engine.server.guard import Connections
from dex.engine.server.httpserver import HttpServer
from dex.engine.server.listening import listen
from dex.engine.server.node import make_server
from dex.engine.server.terms import Terms
from tests.directories import fast_directory
from tests.serveprocess import read_all


@dataclass(frozen=True)
class Server:
    """A running server: its URL without a slash at the end, the engine behind it, and how to stop it."""

    url: str
    engine: LocalEngine
    dispatcher: Dispatcher
    uvicorn: HttpServer
    thread: threading.Thread

    @property
    def address(self) -> tuple[str, int]:
        """Host and port, for a bare socket."""
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)

    @property
    def connections(self) -> Connections:
        """The connections that are open."""
        return self.uvicorn._connections

    def connect(self) -> socket.socket:
        """Open a bare connection."""
        return socket.create_connection(self.address, timeout=30)

    def talk(self, *parts: bytes) -> bytes:
        """Send bytes on a connection of their own, and give all that comes back until it is closed."""
        with self.connect() as connection:
            for part in parts:
                connection.sendall(part)
            return read_all(connection)

    def stop(self) -> None:
        """Stop as a signal would, and wait for the end."""
        self.uvicorn.should_exit = True
        self.thread.join()


@contextmanager
def served(engine: LocalEngine, terms: Terms | None = None, tls: SSLContext | None = None) -> Iterator[Server]:
    """Serve an engine on 127.0.0.1, as `dex serve` does."""
    listener = listen("127.0.0.1", 0)
    dispatcher, ready = Dispatcher(engine), threading.Event()
    server = make_server(dispatcher, Terms() if terms is None else terms, ready.set, tls=tls)
    thread = threading.Thread(target=server.run, args=([listener],), name="server")
    thread.start()
    ready.wait()
    running = Server(f"http://127.0.0.1:{listener.getsockname()[1]}", engine, dispatcher, server, thread)
    try:
        yield running
    finally:
        running.stop()
        dispatcher.close()
        listener.close()


Serve = Callable[..., Server]


@pytest.fixture
def serve_on() -> Iterator[Serve]:
    """Serve an engine of one's own on given terms."""
    with ExitStack() as stack:

        def serve(terms: Terms, tls: SSLContext | None = None) -> Server:
            engine = LocalEngine(stack.enter_context(fast_directory()) / "data")
            stack.callback(engine.close)
            return stack.enter_context(served(engine, terms, tls))

        yield serve


@pytest.fixture
def server(serve_on: Serve) -> Server:
    """An engine on a directory of its own, served; `server.engine` looks behind the socket."""
    return serve_on(Terms())


@pytest.fixture
def http(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=30) as client:
        yield client
