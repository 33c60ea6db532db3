"""What is on its way to a partition's stream.

Messages are sent in order, and sent again under the same id until the stream answers or their time is over: one that
is not answered may still be committed. What became of a message is told by the apply of its position alone.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from nats.aio.msg import Msg

from dex.engine.cluster.link import LINK_ERRORS, Link
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.verdicts import Verdicts
from dex.engine.remote.trying import may_be_applied
from dex.wcl.errors import DexError

_log = logging.getLogger("dex.cluster")

MESSAGE_ID = "Nats-Msg-Id"
_TRY_SECONDS = 1.5
_IN_PROCESS = 10158
# A leader that is lost is replaced after four to eight seconds.
_PATIENCE_SECONDS = 12.0
_LOOK_SECONDS = 0.25
# The servers drop what is beyond their own queue, and it would be sent again only after a while.
_MOST_IN_FLIGHT = 1024


class Sending:
    """A message under way, and the place of its verdict, which is given here only where its time is over."""

    __slots__ = ("data", "message_id", "place", "sent_at", "until", "verdicts")

    def __init__(self, message_id: str, data: bytes, deadline: float, verdicts: Verdicts, place: int) -> None:
        self.message_id = message_id
        self.data = data
        self.until = min(deadline, time.monotonic() + _PATIENCE_SECONDS)
        self.verdicts = verdicts
        self.place = place
        self.sent_at = 0.0

    def give(self, verdict: Any | DexError) -> None:
        """Give the verdict."""
        self.verdicts.give(self.place, verdict)


class _Answer(msgspec.Struct):
    seq: int = 0
    error: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Answer).decode


class Outbox:
    """The messages of one node to one stream. `on_answer` is told each position that is committed.

    `refusal` is why the stream took nothing last, in its own words; empty where it took something, or did not say.
    """

    def __init__(self, link: Link, subject: str, on_answer: Callable[[int], None]) -> None:
        self._link = link
        self._subject = subject
        self._on_answer = on_answer
        self._new: deque[Sending] = deque()
        self._flying: dict[str, Sending] = {}
        self._wake = asyncio.Event()
        self._is_woken = False
        self._inbox = ""
        self._since: float | None = None
        self._refusing = Outage(f"writing to {subject}")
        self.refusal = ""

    def put(self, messages: Sequence[Sending]) -> None:
        """Send messages, after those that were put before; from any thread."""
        self._new.extend(messages)
        if not self._is_woken:
            self._is_woken = True
            self._link.loop.call_soon_threadsafe(self._wake.set)

    @property
    def waited(self) -> float:
        """How many seconds what was sent has waited for any answer, 0 where nothing does."""
        return 0.0 if self._since is None else time.monotonic() - self._since

    async def run(self) -> None:
        """Send what is put, for ever."""
        self._inbox = self._link.nc.new_inbox()
        await self._link.nc.subscribe(f"{self._inbox}.*", cb=self._answered)
        look_at = 0.0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._wake.wait()
            self._wake.clear()
            # Before looking, so that what is put from now on wakes this up once more.
            self._is_woken = False
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + _LOOK_SECONDS
                self._give_up()
                await self._send_again()
            while self._new and len(self._flying) < _MOST_IN_FLIGHT:
                sending = self._new.popleft()
                self._flying[sending.message_id] = sending
                await self._send(sending)

    async def _send_again(self) -> None:
        overdue = time.monotonic() - _TRY_SECONDS
        for sending in [each for each in self._flying.values() if each.sent_at < overdue]:
            await self._send(sending)

    async def _send(self, sending: Sending) -> None:
        sending.sent_at = time.monotonic()
        self._since = self._since or sending.sent_at
        reply, headers = f"{self._inbox}.{sending.message_id}", {MESSAGE_ID: sending.message_id}
        try:
            await self._link.nc.publish(self._subject, sending.data, reply=reply, headers=headers)
        except LINK_ERRORS as error:
            _log.debug("sending to %s again later: %s", self._subject, error)

    async def _answered(self, message: Msg) -> None:
        message_id = message.subject.rpartition(".")[2]
        if message_id not in self._flying or not message.data:
            return  # answered before, or nobody is there to take it
        answer = _decode(message.data)
        if answer.error is not None:
            if answer.error.get("err_code") == _IN_PROCESS:
                return  # a try before this one is not committed yet
            self.refusal = str(answer.error.get("description"))
            self._refusing.goes_on(self.refusal)
            return
        if self.refusal:
            self._refusing.is_over()
            self.refusal = ""
        del self._flying[message_id]
        self._since = time.monotonic() if self._flying else None
        self._on_answer(answer.seq)
        if self._new:
            self._wake.set()

    def _give_up(self) -> None:
        """Tell whoever waits for what was not answered in time."""
        now = time.monotonic()
        for sending in [each for each in (*self._flying.values(), *self._new) if each.until < now]:
            if self._flying.pop(sending.message_id, None) is None:
                self._new.remove(sending)
            if not self._flying:
                self._since = None
            reason = f"does not take a write: {self.refusal}" if self.refusal else "has no quorum"
            sending.give(may_be_applied(f"the journal {self._subject} {reason}, and the write may still be committed"))
