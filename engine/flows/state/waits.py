"""Waits of steps as they are stored, judged in the commit that may have met them (spec: FL-08)."""

import sqlite3
from datetime import timedelta

import msgspec

from dex.engine.clock import LATEST_MS
from dex.engine.flows.state import channels
from dex.engine.flows.wait import ChannelCondition, Wait
from dex.wcl.errors import InvalidStepResultError


class Waiting(msgspec.Struct, array_like=True):
    """A step's wait: `since` is when it began, in ms; `fired` tells of each timer whether it fired or was skipped."""

    wait: Wait
    since: int
    fired: list[bool]

    def next_timer(self) -> int | None:
        """Give when the next timer fires, in ms, or None where none is left."""
        times = self._times()
        return min((time for time, fired in zip(times, self.fired, strict=True) if not fired), default=None)

    def unfired(self) -> "Waiting":
        """Give the same wait with no timer fired; those whose time has come fire again."""
        return Waiting(self.wait, self.since, [False] * len(self.fired))

    def due_timers(self, now_ms: int) -> list[int]:
        """Give the numbers of the timers whose time has come."""
        return [
            number
            for number, (time, fired) in enumerate(zip(self._times(), self.fired, strict=True))
            if not fired and time <= now_ms
        ]

    def _times(self) -> list[int]:
        lasts = (timer.duration // timedelta(milliseconds=1) for timer in self.wait.timers)
        return [min(self.since + ms, LATEST_MS) for ms in lasts]


class Met(msgspec.Struct, array_like=True):
    """What ended a wait: the messages it consumed, by Channel key, and which timers had fired."""

    messages: dict[str, list[int]]
    fired: list[bool]

    def renumbered(self, ids: dict[int, int]) -> "Met":
        """Give the same with messages that have other ids now."""
        return Met({channel: [ids[id_] for id_ in taken] for channel, taken in self.messages.items()}, self.fired)


encode = msgspec.msgpack.encode
decode = msgspec.msgpack.Decoder(Waiting).decode
decode_wait = msgspec.msgpack.Decoder(Wait).decode
decode_met = msgspec.msgpack.Decoder(Met).decode


def encode_wait(wait: Wait) -> bytes:
    """Give the stored form of what a handler asks to wait for, proved by reading it.

    Raises:
        InvalidStepResultError: it has parts of other types than declared.
    """
    try:
        data = msgspec.msgpack.encode(wait)
        decode_wait(data)
    except (msgspec.ValidationError, TypeError, OverflowError) as error:
        raise InvalidStepResultError(
            f"the wait cannot be stored: {error}", "make conditions by channels and Timer"
        ) from error
    return data


def begin(wait: bytes, at: int) -> Waiting:
    """Give the stored form of a wait that begins at `at`, in ms."""
    decoded = decode_wait(wait)
    return Waiting(decoded, at, [False] * len(decoded.timers))


def judge(connection: sqlite3.Connection, run: int, waiting: Waiting) -> Met | None:
    """Tell what a wait consumes if its conditions are met now, else None."""
    conditions = [c for c in waiting.wait.conditions if isinstance(c, ChannelCondition)]
    sizes = {c.channel: channels.size(connection, run, c.channel) for c in conditions}
    taken = waiting.wait.settle(sizes, waiting.fired)
    if taken is None:
        return None
    counts: dict[str, int] = {}
    for condition, count in zip(waiting.wait.conditions, taken, strict=True):
        if isinstance(condition, ChannelCondition) and count:
            counts[condition.channel] = counts.get(condition.channel, 0) + count
    messages = {
        channel: [message.id for message in channels.pending(connection, run, channel, count)]
        for channel, count in counts.items()
    }
    return Met(messages, waiting.fired)
