"""The connection to the journal servers, and what is under way on it."""

import asyncio
from threading import Event

import nats.errors
import nats.js.errors
import pytest

from dex.engine.cluster.link import Link, in_words


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


@pytest.mark.spec("X-03", "K-04")
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (nats.js.errors.ServiceUnavailableError(code=503), "they have no leader"),
        (nats.js.errors.ServerError(code=500, description="insufficient storage"), "insufficient storage"),
        (nats.errors.TimeoutError(), "no answer in time"),
        (TimeoutError(), "no answer in time"),
        (TimeoutError("it was just made"), "it was just made"),
        (nats.errors.NoRespondersError(), "none of them can be reached, or they have no leader"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_client_library_raises_is_told_in_words(error: Exception, told: str) -> None:
    assert in_words(error) == told
