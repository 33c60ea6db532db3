"""A real server for tests: one socket a process of tests, and behind it the application of the engine at hand."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import uvicorn

from dex.engine.local import LocalEngine
from dex.engine.server.app import make_app
from dex.engine.server.dispatch import Dispatcher
from dex.engine.server.guard import Connections
from dex.engine.server.httpserver import HttpServer
from dex.engine.server.limits import Limits


class Front:
    """The server: answers with `app`, which tests exchange."""

    def __init__(self) -> None:
        self.app: Any = None
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(self._answer, interface="asgi3", log_config=None, access_log=False, lifespan="off")
        limits = Limits()
        server = HttpServer(config, asyncio.Event(), lambda: None, Connections(limits.connections), limits)
        threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


@cache
def _front() -> Front:
    return Front()


@contextmanager
def serving(engine: LocalEngine) -> Iterator[str]:
    """Serve an engine over HTTP meanwhile, and give the URL."""
    front, dispatcher = _front(), Dispatcher(engine)
    before, front.app = front.app, make_app(dispatcher)
    try:
        yield front.url
    finally:
        front.app = before
        dispatcher.close()
