"""Answers that are sent a line at a time, as fast as the client reads and no faster (spec: K-01)."""

import asyncio

import msgspec
from litestar.types import Receive, Send

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


async def send_lines(items: Items, streams: Streams, receive: Receive, send: Send) -> None:
    """Send items as JSON, one a line. An error in the middle is the last line; a client that goes away ends it."""
    with streams.one():
        headers = [(b"content-type", NDJSON.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        tasks = asyncio.create_task(_send(items, send)), asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            sent, _ = await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(sent, Exception):
            raise sent


async def _send(items: Items, send: Send) -> None:
    """Send each part once the client has taken the one before it, so that no more than two are in memory."""
    try:
        async for part in items:
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
