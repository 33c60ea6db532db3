"""Real servers for tests, in this process: each has a socket, and behind it the application of the engine at hand.

A server that has served one test serves another: to begin and end one takes longer than many a test.
"""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import uvicorn

from dex.engine.protocol import Node
from dex.engine.server.app import make_app
from dex.engine.server.dispatch import Dispatcher
from dex.engine.server.guard import Connections
from dex.engine.server.httpserver import HttpServer
from dex.engine.server.limits import Limits
from dex.engine.server.responses import error_body, error_headers, respond
from dex.wcl.errors import Unavailable

_UNUSED: "list[Front]" = []


class Front:
    """The server at `url`. Where it serves no engine, it says so."""

    def __init__(self) -> None:
        self._app: Any = lambda: _nobody
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(self._answer, interface="asgi3", log_config=None, access_log=False, lifespan="off")
        limits = Limits()
        self._loop: asyncio.AbstractEventLoop
        self._running = threading.Event()
        server = HttpServer(config, asyncio.Event(), self._begin, Connections(limits.connections), limits)
        threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
        self._running.wait()

    def _begin(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._running.set()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app()(scope, receive, send)

    @contextmanager
    def serving(self, engine: Node) -> Iterator[None]:
        """Serve an engine meanwhile; its application is made by the first request, and long polls end at the end."""
        dispatcher = Dispatcher(engine)
        self._app = cache(lambda: make_app(dispatcher))
        try:
            yield
        finally:
            self._app = lambda: _nobody
            self._loop.call_soon_threadsafe(dispatcher.stopping.set)
            dispatcher.close()


async def _nobody(_scope: Any, _receive: Any, send: Any) -> None:
    error = Unavailable("nobody is served here", "ask another server")
    body = error_body(error)
    await respond(send, error.status, error_headers(body), body)


@contextmanager
def some_front() -> Iterator[Front]:
    """Give a server that nobody else uses meanwhile."""
    front = _UNUSED.pop() if _UNUSED else Front()
    try:
        yield front
    finally:
        _UNUSED.append(front)


@contextmanager
def serving(engine: Node) -> Iterator[str]:
    """Serve an engine over HTTP meanwhile, and give the URL."""
    with some_front() as front, front.serving(engine):
        yield front.url
