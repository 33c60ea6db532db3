"""The lanes of a server, in which the work of requests is done."""

import asyncio
import gc
import threading

import pytest

from dex.engine.server.dispatch import Lane
from dex.wcl.errors import Unavailable


@pytest.mark.spec("X-03")
def test_what_fails_once_nobody_waits_for_it_leaves_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """As a long poll whose client has gone, when the server stops."""
    lane, going = Lane("waiting", 1, 1), threading.Event()

    def work() -> None:
        going.wait(20)
        raise Unavailable("the engine is closed", "open a new client")

    async def leave() -> None:
        waiting = asyncio.create_task(lane.run(work))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        going.set()
        await asyncio.to_thread(lane.close)

    asyncio.run(leave())
    gc.collect()
    assert caplog.records == []
