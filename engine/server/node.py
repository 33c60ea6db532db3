"""One node: an engine, the work that belongs to it, and the server in front of it, from start to stop (spec: K-01)."""

import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import uvicorn

from dex.engine.protocol import Node
from dex.engine.server.app import make_app
from dex.engine.server.dispatch import Dispatcher
from dex.engine.server.guard import Connections
from dex.engine.server.httpserver import HttpServer
from dex.engine.server.limits import make_room_for_files
from dex.engine.server.listening import ServingLock, listen
from dex.engine.server.terms import Terms

if TYPE_CHECKING:
    from dex.engine.server.syncing import Syncing
    from dex.engine.sync.service import Sync

# How long requests that were accepted may take after the server was told to stop.
_GRACE_SECONDS = 30


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int


def serve(
    engine: Node,
    address: Address,
    *,
    terms: Terms,
    tls: ssl.SSLContext | None = None,
    sync: "Sync | None" = None,
    ready: Callable[[str], None],
) -> None:
    """Serve an engine until SIGINT or SIGTERM; what was accepted is finished.

    Works the Steps of the Flows that the engine knows, and `sync` if there is one. `ready` is called with the URL
    once requests are answered.

    Raises:
        Unavailable: the address or the data directory is another process's.
        Refused: the address cannot be used, or is beyond this machine and the terms are not made for that.
        KeyboardInterrupt: it was SIGINT.
    """
    safe = terms.any_name or (terms.tokens is not None and tls is not None)
    listener = listen(address.host, address.port, anywhere=safe)
    url = _url(address.host, listener, tls)
    lock = ServingLock(engine.data_dir)
    dispatcher = Dispatcher(engine)
    try:
        lock.take(url)
        engine.serve_at(url)
        if terms.tokens is not None and engine.secret:
            terms.tokens.admit_nodes(lambda: engine.secret)
        with _syncing(sync) as syncing, _stopped_by_sigterm():
            make_server(dispatcher, terms, lambda: ready(url), tls=tls, syncing=syncing).run(sockets=[listener])
    finally:
        dispatcher.close()
        lock.release()
        listener.close()


def _url(host: str, listener: socket.socket, tls: ssl.SSLContext | None) -> str:
    """Give where a server is reached: by the name that it was given, which its certificate may have."""
    port = listener.getsockname()[1]
    return f"{'http' if tls is None else 'https'}://{f'[{host}]' if ':' in host else host}:{port}"


def make_server(
    dispatcher: Dispatcher,
    terms: Terms,
    ready: Callable[[], None],
    *,
    tls: ssl.SSLContext | None = None,
    syncing: "Syncing | None" = None,
) -> HttpServer:
    """Give the server of an engine, which takes connections once it runs on a socket."""
    connections = Connections(make_room_for_files(terms.limits))
    config = uvicorn.Config(
        make_app(dispatcher, terms, connections=connections.__len__, syncing=syncing),
        interface="asgi3",
        lifespan="off",
        ws="none",
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    return HttpServer(config, dispatcher.stopping, ready, connections, terms.limits, tls, dispatcher.engine.hand_over)


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Let SIGTERM be no more than the end: uvicorn sends a signal that has stopped it once more afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda _signal, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _syncing(sync: "Sync | None") -> "Iterator[Syncing | None]":
    """Write to the Attribute Stores meanwhile."""
    if sync is None:
        yield None
        return
    from dex.engine.server.syncing import Syncing

    syncing = Syncing(sync)
    with syncing.running():
        yield syncing
