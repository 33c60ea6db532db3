"""The connection to the journal servers, and what is under way on it."""

import asyncio
import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event

import nats.errors
import nats.js.errors
import pytest

from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.engine.cluster.servers import JournalServer, JournalServers
from tests.clusters import journal_servers
from tests.engine.cluster.conftest import eventually

__all__ = ["journal_servers"]


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


@pytest.mark.spec("K-04")
def test_a_server_that_breaks_off_leaves_no_connection_open(journal_servers: JournalServers) -> None:
    async def break_off(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    broken = Link([], "broken")
    server = broken.call(asyncio.start_server(break_off, "127.0.0.1", 0), 20)
    url = f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    # The client takes the next at random.
    link = Link([*[url] * 20, journal_servers.urls[0]], "moving")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        link.open()
        link.call(link.nc.force_reconnect(), 20)
        eventually(lambda: link.nc.is_connected)
        gc.collect()
        link.close()
    broken.loop.call_soon_threadsafe(server.close)
    broken.close()
    assert [str(warning.message) for warning in caught] == []


@pytest.mark.spec("K-04")
def test_what_is_sent_while_a_connection_is_lost_is_told_as_such_and_another_is_made(
    journal_servers: JournalServers,
) -> None:
    link = Link(journal_servers.urls, "losing")
    link.open()

    async def lose() -> None:
        """Send in the moment in which the library does not know yet that the connection is lost."""
        link.nc._transport._io_writer.transport.abort()  # type: ignore[union-attr]
        for _ in range(10):
            with suppress(*LINK_ERRORS):
                await link.nc.publish("nobody", b"")
            await asyncio.sleep(0)

    for _ in range(10):
        link.call(lose(), 20)
        link.insist(link.js.account_info, 20)
    link.close()


def _fill(link: Link) -> None:
    """Send more than a server that hangs takes."""

    async def send() -> None:
        for _ in range(64):
            await link.nc.publish("nobody", bytes(1024 * 1024))

    link.submit(send())


@contextmanager
def _hanging(servers: JournalServers) -> Iterator[tuple[Link, JournalServer]]:
    """Give a connection whose server hangs and has not taken all that was sent."""
    link = Link(servers.urls, "waiting")
    link.open()
    server = next(each for each in servers.servers if each.port == link.nc.connected_url.port)
    server.pause()
    try:
        _fill(link)
        yield link, server
    finally:
        server.resume()
        link.close()


@pytest.mark.spec("K-04")
def test_a_server_that_hangs_and_does_not_take_what_is_sent_is_left(journal_servers: JournalServers) -> None:
    """What it has not taken would be waited for until it goes on."""
    with _hanging(journal_servers) as (link, server):
        eventually(lambda: link.nc.is_connected and link.nc.connected_url.port != server.port)


@pytest.mark.spec("K-04")
def test_a_connection_to_a_server_that_hangs_is_closed(journal_servers: JournalServers) -> None:
    with _hanging(journal_servers) as (link, _server):
        link.close()


@pytest.mark.spec("K-04")
def test_it_goes_to_no_server_that_it_has_no_credentials_for(journal_servers: JournalServers) -> None:
    """The servers tell of one another, by addresses without any."""
    link = Link(journal_servers.urls, "telling")
    link.open()
    assert all(uri.password for uri in link.nc.servers)
    link.close()


@pytest.mark.spec("K-04")
def test_it_goes_to_the_server_that_is_asked_for_by_its_name(journal_servers: JournalServers) -> None:
    link = Link(journal_servers.urls, "going")
    link.open()
    try:
        found = set()
        for server in journal_servers.servers:
            link.call(link.move(server.name), 20)
            assert link.server == server.name
            assert link.nc.connected_url.port == server.port
            found.add(link.server)
        assert len(found) == 3
    finally:
        link.close()


@pytest.mark.spec("K-04")
def test_it_leaves_a_server_for_another(journal_servers: JournalServers) -> None:
    link = Link(journal_servers.urls, "leaving")
    link.open()
    try:
        for _ in range(10):
            left = link.server
            link.call(link.move(), 20)
            assert link.server != left
    finally:
        link.close()


@pytest.mark.spec("X-03", "K-04")
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (nats.js.errors.ServiceUnavailableError(code=503), "there is no leader"),
        (nats.js.errors.ServiceUnavailableError(code=503, err_code=10008, description="JS"), "there is no leader"),
        (nats.js.errors.ServerError(code=500, description="insufficient storage"), "insufficient storage"),
        (nats.errors.TimeoutError(), "no answer in time"),
        (TimeoutError(), "no answer in time"),
        (TimeoutError("it was just made"), "it was just made"),
        (nats.errors.NoRespondersError(), "no server can be reached, or there is no leader"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_client_library_raises_is_told_in_words(error: Exception, told: str) -> None:
    assert in_words(error) == told


@pytest.mark.spec("K-04")
def test_a_server_that_cannot_be_reached_is_tried_once_where_it_is_known_to_be(journal_servers: JournalServers) -> None:
    """Each try leaves a connection that serves, for as long as nobody answers there."""
    link = Link([*journal_servers.urls, "nats://127.0.0.1:9"], "trying")
    link.open()
    link._choice.found("127.0.0.1:9", "lost")
    before = link.nc.stats["reconnects"]
    link.call(link.move("lost"), 20)
    assert link.nc.stats["reconnects"] == before + 1
    link.close()
