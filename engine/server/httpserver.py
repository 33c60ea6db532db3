"""The server in front of an application, and how it stops (spec: K-01)."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

_STALLED_SECONDS = 1.0


class HttpServer(uvicorn.Server):
    """Says when it is ready, sets `stopping` when it is told to stop, and then waits for no client that has stalled."""

    def __init__(self, config: uvicorn.Config, stopping: asyncio.Event, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as ever, then say so."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what was accepted, as far as clients take their answers."""
        self._stopping.set()
        cutting = asyncio.create_task(self._cut_stalled())
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()

    async def _cut_stalled(self) -> None:
        """Cut connections whose clients take nothing of what is there for them."""
        before: dict[Any, int] = {}
        while True:
            left = {found: found.transport.get_write_buffer_size() for found in self.server_state.connections}
            for connection, size in left.items():
                if size and before.get(connection) == size:
                    connection.transport.abort()
            before = left
            await asyncio.sleep(_STALLED_SECONDS)
