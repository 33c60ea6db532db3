"""Answers that are sent a line at a time, as fast as the client reads and no faster (spec: K-01)."""

import asyncio
from typing import Any

import msgspec
from litestar import Response
from litestar.types import ASGIApp, Receive, Scope, Send

from dex.engine.server.dispatch import Streams
from dex.engine.server.route import Items
from dex.wcl.errors import DexError
from dex.wcl.wire import encode
from dex.wcl.wireerrors import error_to_wire

NDJSON = "application/x-ndjson"
_PART_BYTES = 64 * 1024
_PART_ITEMS = 256


def part_size(sizes: list[int]) -> int:
    """Give how many items to read next, from the bytes of those read last: a client that stalls holds one part."""
    return min(_PART_ITEMS, max(1, _PART_BYTES * len(sizes) // max(1, sum(sizes))))


class Lines(Response[None]):
    """Items as JSON, one a line. An error in the middle is the last line; a client that goes away ends it."""

    def __init__(self, items: Items, streams: Streams) -> None:
        super().__init__(None)
        self._items = items
        self._streams = streams

    def to_asgi_response(  # type: ignore[override]  # any ASGI application will do
        self, *_arguments: Any, **_options: Any
    ) -> ASGIApp:
        """Give what sends them; nothing that is set for other responses applies."""
        return self._respond

    async def _respond(self, _scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.one():
            await self._send_while_read(receive, send)

    async def _send_while_read(self, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", NDJSON.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        tasks = asyncio.create_task(self._send(send)), asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            sent, _ = await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(sent, Exception):
            raise sent

    async def _send(self, send: Send) -> None:
        """Send each part once the client has taken the one before it, so that no more than two are in memory."""
        try:
            async for part in self._items:
                if part:
                    lines = b"".join(encode(item) + b"\n" for item in part)
                    await send({"type": "http.response.body", "body": lines, "more_body": True})
        except DexError as error:
            line = msgspec.json.encode({"error": error_to_wire(error)}) + b"\n"
            await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
