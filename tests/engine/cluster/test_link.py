"""The connection to the journal servers, and what is under way on it."""

import asyncio
from threading import Event

import pytest

from dex.engine.cluster.link import Link


@pytest.mark.spec("K-03")
def test_what_takes_its_cancellation_for_an_error_does_not_keep_the_connection_from_closing() -> None:
    """The client library tells of a closed connection in its place, and who insists goes on."""
    link, begun = Link(["nats://127.0.0.1:9"], "closing"), Event()

    async def insist() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    insisting = link.submit(insist())
    assert begun.wait(20)
    link.close()
    assert insisting.cancelled()
