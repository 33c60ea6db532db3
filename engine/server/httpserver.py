"""The server in front of an application, and how it stops (spec: K-01)."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable

import uvicorn

from dex.engine.server.guard import Connection, Connections
from dex.engine.server.limits import Limits
from dex.engine.server.listening import BACKLOG
from dex.engine.server.tls import Handshake
from dex.wcl.errors import DexError

_log = logging.getLogger("dex.server")

_STALLED_SECONDS = 1.0
_LOOK_SECONDS = 0.5
_REST_SECONDS = 0.02


class HttpServer(uvicorn.Server):
    """Says when it is ready, sets `stopping` when it is told to stop, and then waits for no client that has stalled.

    Meanwhile `leave` is called, in a thread. What waits for its client longer than `limits` allow is closed. With
    `tls` connections are encrypted.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        stopping: asyncio.Event,
        ready: Callable[[], None],
        connections: Connections,
        limits: Limits,
        tls: ssl.SSLContext | None = None,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(config)
        self._leave = leave
        self._stopping = stopping
        self._ready = ready
        self._connections = connections
        self._limits = limits
        self._tls = tls

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections, then say so."""
        loop = asyncio.get_running_loop()
        self.servers = [
            await loop.create_server(self._open, sock=listener, backlog=BACKLOG) for listener in sockets or ()
        ]
        self._expiring = loop.create_task(self._expire())
        self.started = True
        self._ready()

    def _open(self) -> asyncio.Protocol:
        connection = Connection(self._connections, self._limits, self.config, self.server_state, self.lifespan.state)
        return connection if self._tls is None else Handshake(connection, self._tls, self._limits.head_seconds)

    async def _expire(self) -> None:
        while True:
            more = self._connections.expire(asyncio.get_running_loop().time())
            await asyncio.sleep(_REST_SECONDS if more else _LOOK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what was accepted, as far as clients take their answers."""
        self._stopping.set()
        cutting = asyncio.create_task(self._cut_stalled())
        leaving = asyncio.create_task(asyncio.to_thread(self._leave))
        try:
            await super().shutdown(sockets)
            await leaving
        except DexError as error:
            _log.warning("stopping: %s", error)
        finally:
            cutting.cancel()
            self._expiring.cancel()

    async def _cut_stalled(self) -> None:
        """Cut connections whose clients take nothing of what is there for them.

        Over TLS one that is closed has its client's farewell still to come, which clients that do not read just then,
        such as another node that keeps the connection for later, do not send.
        """
        before: dict[Connection, int] = {}
        while True:
            left = {found: found.unsent() for found in self._connections}
            for connection, size in left.items():
                if before.get(connection) == size and (size or connection.transport.is_closing()):
                    connection.transport.abort()
            before = left
            await asyncio.sleep(_STALLED_SECONDS)
