"""What waits to be sent to a stream: how long, and what does not hold it up."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from nats.aio.msg import Msg

from dex.engine.cluster.link import Link
from dex.engine.cluster.outbox import Outbox, Sending
from dex.engine.cluster.servers import JournalServers
from dex.engine.cluster.verdicts import Verdicts
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
