"""What waits to be sent to a stream: how long, and what does not hold it up."""

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from nats.aio.msg import Msg

from dex.engine.cluster.link import Link
from dex.engine.cluster.outbox import Outbox, Sending
from dex.engine.cluster.servers import JournalServer, JournalServers
from dex.engine.cluster.verdicts import Verdicts
from dex.wcl.commands import AppendRecords, DefineFeed, FeedRecord
from dex.wcl.errors import Unavailable
from tests.clusters import new_cluster, running_servers
from tests.engine.cluster.conftest import eventually

_SUBJECT = "slow"
_PATIENCE = 3.0


@contextmanager
def _link(servers: JournalServers) -> Iterator[Link]:
    link = Link(servers.urls, "test")
    link.open()
    try:
        yield link
    finally:
        link.close()


@pytest.mark.spec("K-04")
def test_what_waits_behind_others_is_not_given_up_while_the_stream_takes_them(
    journal_servers: JournalServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on slow disks, of which it was told that there was no quorum."""
    monkeypatch.setattr("dex.engine.cluster.outbox._PATIENCE_SECONDS", _PATIENCE)
    taken: list[str] = []

    async def take(message: Msg) -> None:
        """Take a message as a stream does whose disk is slow."""
        if message.reply not in taken:  # else it is sent again
            taken.append(message.reply)
            await asyncio.sleep(_PATIENCE / 2)
            await message.respond(b'{"seq":%d}' % len(taken))

    with _link(journal_servers) as slow, _link(journal_servers) as link:
        slow.call(slow.nc.subscribe(_SUBJECT, cb=take), 10)
        slow.call(slow.nc.flush(), 10)
        answers: list[int] = []
        outbox = Outbox(link, _SUBJECT, lambda records: records[0][0], lambda: 10, answers.append)
        link.submit(outbox.run())
        verdicts = Verdicts(4)
        deadline = time.monotonic() + 60
        outbox.put([Sending(b"1234567890", 0, deadline, verdicts, place) for place in range(4)])
        eventually(lambda: set(answers) >= {1, 2, 3, 4})
        assert [verdicts.has(place) for place in range(4)] == [False] * 4


@pytest.mark.spec("K-06")
def test_a_barrier_is_sent_before_records_that_wait(journal_servers: JournalServers) -> None:
    """They are not committed, so that no strict read has to wait for them."""
    taken: list[bytes] = []

    async def take(message: Msg) -> None:
        """Take the first message once all others wait."""
        if message.data not in taken:
            taken.append(message.data)
            await asyncio.to_thread(waiting.wait, 30)
            await message.respond(b'{"seq":%d}' % len(taken))

    with _link(journal_servers) as slow, _link(journal_servers) as link:
        waiting = threading.Event()
        slow.call(slow.nc.subscribe(_SUBJECT, cb=take), 10)
        slow.call(slow.nc.flush(), 10)
        outbox = Outbox(link, _SUBJECT, lambda records: records[0][0], lambda: 10, lambda _seq: None)
        link.submit(outbox.run())
        verdicts = Verdicts(4)
        deadline = time.monotonic() + 60
        outbox.put([Sending(b"record %03d" % place, 0, deadline, verdicts, place) for place in range(3)])
        eventually(lambda: taken == [b"record 000"])
        outbox.put([Sending(b"barrier   ", 0, deadline, verdicts, 3)], first=True)
        waiting.set()
        eventually(lambda: taken == [b"record 000", b"barrier   ", b"record 001", b"record 002"])


@pytest.mark.spec("K-03", "K-04")
def test_what_the_servers_have_become_too_small_for_holds_up_nothing_else() -> None:
    """It was sent to a server that took as much, and is lost; those that are left take less."""
    with (
        running_servers() as servers,
        new_cluster(servers, ("a",), settings={"partitions": 1}) as cluster,
        ThreadPoolExecutor(1) as aside,
    ):
        node = cluster.nodes["a"]
        node.execute(DefineFeed(name="f"))
        port = node.partitions[0].writer._link.nc.connected_url.port  # type: ignore[union-attr]
        for server in servers.servers:
            if server.port != port:
                _lower_max_payload(server)
        (lost,) = (server for server in servers.servers if server.port == port)
        lost.pause()
        try:
            large = aside.submit(node.execute, _append(1024 * 1024))
            with pytest.raises(Unavailable, match=r"takes \d+ bytes by now, and what was sent has 1048\d+; it") as told:
                large.result()
            assert told.value.facts["applied"] == "unknown"
            assert node.execute(_append(10)).seq > 0
        finally:
            lost.resume()


def _append(size: int) -> AppendRecords:
    return AppendRecords(feed="f", records=[FeedRecord(key=b"k", payload=bytes(size))])


def _lower_max_payload(server: JournalServer) -> None:
    path = server.folder / "server.conf"
    path.write_text(path.read_text().replace("max_payload: 8MB", "max_payload: 512KB"))
    assert server.process is not None
    server.process.send_signal(signal.SIGHUP)
    url = f"http://127.0.0.1:{server.monitor}/varz"
    eventually(lambda: bool(httpx.get(url).json()["max_payload"] == 512 * 1024))
