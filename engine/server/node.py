"""One node: an engine, the work that belongs to it, and the server in front of it, from start to stop (spec: K-01)."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import uvicorn

from dex.engine.local import LocalEngine
from dex.engine.server.app import make_app
from dex.engine.server.dispatch import Dispatcher
from dex.engine.server.httpserver import HttpServer
from dex.engine.server.listening import ServingLock, listen
from dex.wcl.errors import DexError

if TYPE_CHECKING:
    from dex.engine.sync.service import Sync

_log = logging.getLogger("dex.server")
# How long requests that were accepted may take after the server was told to stop.
_GRACE_SECONDS = 30


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int


def serve(engine: LocalEngine, address: Address, *, sync: "Sync | None" = None, ready: Callable[[str], None]) -> None:
    """Serve an engine until SIGINT or SIGTERM; what was accepted is finished.

    Works the Steps of the Flows that the engine knows, and `sync` if there is one. `ready` is called with the URL
    once requests are answered.

    Raises:
        Unavailable: the address or the data directory is another process's.
        Refused: the address cannot be used.
        KeyboardInterrupt: it was SIGINT.
    """
    listener = listen(*address)
    host, port = listener.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    lock = ServingLock(engine.path.parent)
    dispatcher = Dispatcher(engine)
    try:
        lock.take(url)
        engine.flows.worker.start()
        with _syncing(sync), _stopped_by_sigterm():
            HttpServer(_config(dispatcher), dispatcher.stopping, lambda: ready(url)).run(sockets=[listener])
    finally:
        dispatcher.close()
        lock.release()
        listener.close()


def _config(dispatcher: Dispatcher) -> uvicorn.Config:
    return uvicorn.Config(
        make_app(dispatcher),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


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
def _syncing(sync: "Sync | None") -> Iterator[None]:
    """Write to the Attribute Stores meanwhile; a worker that ends with an error is told of in the log."""
    if sync is None:
        yield
        return
    stop = threading.Event()

    def work() -> None:
        try:
            sync.run(stop)
        except DexError as error:
            _log.error("sync has ended: %s", error)  # the error says all; a traceback helps nobody

    thread = threading.Thread(target=work, name="dex-sync", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
