"""What is on its way to a partition's stream.

One message is under way at a time, and what comes meanwhile goes together as the next: a stream takes each message with
a sync of its own, whatever is in it. A message is sent again under the same id until the stream answers or its time is
over, and before that no other, so that records keep their order. One that is not answered may still be committed; what
became of a record is told by its apply alone.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any
from uuid import uuid4

import msgspec
from nats.aio.msg import Msg

from dex.engine.cluster.link import LINK_ERRORS, Link
from dex.engine.cluster.messages import MESSAGE_ID, Record
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.verdicts import Verdicts
from dex.engine.remote.trying import may_be_applied
from dex.wcl.errors import DexError, Refused

_log = logging.getLogger("dex.cluster")

_TRY_SECONDS = 1.5
_IN_PROCESS = 10158
# For so long a stream may take nothing at all: a leader that is lost is replaced after four to eight seconds.
_PATIENCE_SECONDS = 12.0
_LOOK_SECONDS = 0.25
_MOST_RECORDS = 256
_MOST_BYTES = 128 * 1024
_BYTES_BESIDE = 16  # of a record in its message


class Sending:
    """A record to be sent in an epoch, 0 for none, until a deadline, and the place of its verdict."""

    __slots__ = ("deadline", "epoch", "place", "put_at", "record", "verdicts")

    def __init__(self, record: bytes, epoch: int, deadline: float, verdicts: Verdicts, place: int) -> None:
        self.record = record
        self.epoch = epoch
        self.put_at = time.monotonic()
        self.deadline = deadline
        self.verdicts = verdicts
        self.place = place

    def give(self, verdict: Any | DexError) -> None:
        """Give the verdict."""
        self.verdicts.give(self.place, verdict)

    def is_late(self, now: float, taken_at: float) -> bool:
        """Tell whether it is given up; the stream took something last at `taken_at`."""
        return now > self.deadline or now > max(self.put_at, taken_at) + _PATIENCE_SECONDS

    @property
    def is_told(self) -> bool:
        """Whether a verdict was given."""
        return self.verdicts.has(self.place)


class Sent:
    """Records that were sent as one message, and their size in bytes."""

    __slots__ = ("data", "has_left", "message_id", "sendings", "sent_at", "size")

    def __init__(self, message_id: str, data: bytes, sendings: Sequence[Sending], size: int) -> None:
        self.message_id = message_id
        self.data = data
        self.sendings = sendings
        self.size = size
        self.sent_at = time.monotonic()
        self.has_left = False

    def give(self, verdicts: Sequence[Any | DexError]) -> None:
        """Give the verdict of each record."""
        for sending, verdict in zip(self.sendings, verdicts, strict=True):
            sending.give(verdict)


class _Answer(msgspec.Struct):
    seq: int = 0
    error: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Answer).decode


class Outbox:
    """The records of one node to one stream.

    `encode` gives a message of records with their epochs, `most_bytes` how many bytes they may have, and `on_answer` is
    told each message that is committed. `on_sent` is told each that has left this node, once. `refusal` is why the
    stream took nothing last, in its own words; empty where it took something, or did not say.
    """

    def __init__(
        self,
        link: Link,
        subject: str,
        encode: Callable[[list[Record]], bytes],
        most_bytes: Callable[[], int],
        on_answer: Callable[[int], None],
        on_sent: Callable[["Sent"], None] = lambda _sent: None,
    ) -> None:
        self._link = link
        self._subject = subject
        self._encode = encode
        self._most_bytes = most_bytes
        self._on_answer = on_answer
        self._on_sent = on_sent
        self._new: deque[Sending] = deque()
        # What was sent and is not applied yet, and what of that is not answered.
        self._sent: dict[str, Sent] = {}
        self._flying: Sent | None = None
        self._is_woken = False
        self._sending: asyncio.Task[None] | None = None
        self._id = uuid4().hex
        self._numbers = count(1)
        self._inbox = ""
        self._since: float | None = None
        self._taken_at = 0.0
        self._refusing = Outage(f"writing to {subject}")
        self.refusal = ""

    def put(self, sendings: Sequence[Sending], *, first: bool = False) -> None:
        """Send records, after those that were put before, or before all that wait; from any thread."""
        if first:
            self._new.extendleft(reversed(sendings))
        else:
            self._new.extend(sendings)
        if not self._is_woken:
            self._is_woken = True
            self._link.loop.call_soon_threadsafe(self._wake)

    def take(self, message_id: str) -> Sent | None:
        """Give what was sent from here as a message that is applied now, None where it was not; from any thread."""
        return self._sent.pop(message_id, None)

    def abandon(self, verdict: DexError) -> None:
        """Give all records that wait the same verdict; from any thread."""
        for sending in [*self._new, *(sending for sent in list(self._sent.values()) for sending in sent.sendings)]:
            sending.give(verdict)

    def check_size(self, record: bytes) -> None:
        """Look whether a record can be sent.

        Raises:
            Refused: it is larger than the journal servers take.
        """
        if len(record) > self._most_bytes():
            raise Refused(
                f"the command takes {len(record)} bytes in the journal, and its servers take {self._most_bytes()}",
                "send less at once, or raise max_payload of the servers",
            )

    @property
    def waited(self) -> float:
        """How many seconds what was sent has waited for any answer, 0 where nothing does."""
        return 0.0 if self._since is None else time.monotonic() - self._since

    async def run(self) -> None:
        """Send what is put, for ever."""
        self._inbox = self._link.nc.new_inbox()
        await self._link.nc.subscribe(f"{self._inbox}.*", cb=self._answered)
        while True:
            self._give_up()
            self._send_next()
            await asyncio.sleep(_LOOK_SECONDS)
            if self._sending is None or not self._sending.done():
                continue
            self._sending.result()  # an error that sending does not expect ends this too
            if self._flying is not None and self._flying.sent_at < time.monotonic() - _TRY_SECONDS:
                self._begin(self._flying)

    def send_again(self) -> None:
        """Send what is under way by a new connection: its answer may have been lost with the one before."""
        if self._flying is not None and (self._sending is None or self._sending.done()):
            self._begin(self._flying)

    def _wake(self) -> None:
        # Before looking, so that what is put from now on wakes this up once more.
        self._is_woken = False
        self._send_next()

    def _send_next(self) -> None:
        """Send what waits, unless a message is under way."""
        while self._new and self._flying is None and self._inbox:
            self._flying = sent = self._next()
            self._sent[sent.message_id] = sent
            self._begin(sent)

    def _begin(self, sent: Sent) -> None:
        if sent.size > self._most_bytes():
            self._leave_out(sent)
            return
        # Aside: it may hang where its server does.
        self._sending = self._link.loop.create_task(self._send(sent))

    def _leave_out(self, sent: Sent) -> None:
        """Go on without a message that this server does not take any more; another one may have done so before."""
        self._flying = None
        told = f"the journal {self._subject} takes {self._most_bytes()} bytes by now, and what was sent has {sent.size}"
        for sending in sent.sendings:
            sending.give(may_be_applied(f"{told}; it may still be committed"))

    def _next(self) -> Sent:
        """Give the next message: what waits at the front."""
        limit = min(_MOST_BYTES, self._most_bytes())
        sendings = [self._new.popleft()]
        size = len(sendings[0].record)
        while self._new and len(sendings) < _MOST_RECORDS:
            more = len(self._new[0].record) + _BYTES_BESIDE
            if size + more > limit:
                break
            size += more
            sendings.append(self._new.popleft())
        data = self._encode([(sending.record, sending.epoch) for sending in sendings])
        return Sent(f"{self._id}-{next(self._numbers)}", data, sendings, size)

    async def _send(self, sent: Sent) -> None:
        sent.sent_at = time.monotonic()
        self._since = self._since or sent.sent_at
        reply, headers = f"{self._inbox}.{sent.message_id}", {MESSAGE_ID: sent.message_id}
        try:
            await self._link.nc.publish(self._subject, sent.data, reply=reply, headers=headers)
        except LINK_ERRORS as error:
            _log.debug("sending to %s again soon: %s", self._subject, error)
            sent.sent_at = 0.0  # it has not left this node
            return
        if not sent.has_left:
            sent.has_left = True
            await asyncio.sleep(0)  # only now it leaves
            self._on_sent(sent)

    async def _answered(self, message: Msg) -> None:
        flying = self._flying
        if flying is None or message.subject != f"{self._inbox}.{flying.message_id}" or not message.data:
            return  # answered before, or nobody is there to take it
        answer = _decode(message.data)
        if answer.error is not None:
            if answer.error.get("err_code") == _IN_PROCESS:
                return  # a try before this one is not committed yet
            self.refusal = str(answer.error.get("description"))
            self._refusing.goes_on(self.refusal)
            return
        self._on_answer(answer.seq)
        self._go_on()

    def read(self, message_id: str) -> None:
        """Take note that a message is in the stream: that may be known before its answer, which may be lost as well."""
        if self._flying is not None and self._flying.message_id == message_id:
            self._go_on()

    def _go_on(self) -> None:
        """Send what comes after a message that the stream has taken."""
        if self.refusal:
            self._refusing.is_over()
            self.refusal = ""
        self._flying = None
        self._since = None
        self._taken_at = time.monotonic()
        self._send_next()

    def _give_up(self) -> None:
        """Tell whoever waits for what was not answered in time, and forget what nobody waits for any more."""
        now = time.monotonic()
        flying = () if self._flying is None else self._flying.sendings
        late = [sending for sending in (*self._new, *flying) if sending.is_late(now, self._taken_at)]
        for sending in late:
            with suppress(ValueError):  # it is under way
                self._new.remove(sending)
        if all(sending.is_late(now, self._taken_at) for sending in flying):
            self._flying = None
        if self._flying is None and not self._new:
            self._since = None
        for sent in list(self._sent.values()):
            if sent is not self._flying and all(sending.is_told for sending in sent.sendings):
                self._sent.pop(sent.message_id, None)
        reason = f"does not take a write: {self.refusal}" if self.refusal else "has no quorum"
        for sending in late:
            sending.give(may_be_applied(f"the journal {self._subject} {reason}, and the write may still be committed"))
