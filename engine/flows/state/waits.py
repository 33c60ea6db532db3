"""Waits of steps as they are stored, judged in the commit that may have met them (spec: FL-08)."""

import sqlite3
from datetime import timedelta

import msgspec

from dex.engine.flows.state import channels
from dex.engine.flows.wait import ChannelCondition, Wait


class Waiting(msgspec.Struct, array_like=True):
    """A step's wait: `since` is when it began, in ms; `fired` tells of each timer whether it fired or was skipped."""

    wait: Wait
    since: int
    fired: list[bool]

    def next_timer(self) -> int | None:
        """Give when the next timer fires, in ms, or None where none is left."""
        times = self._times()
        return min((time for time, fired in zip(times, self.fired, strict=True) if not fired), default=None)

    def due_timers(self, now_ms: int) -> list[int]:
        """Give the numbers of the timers whose time has come."""
        return [
            number
            for number, (time, fired) in enumerate(zip(self._times(), self.fired, strict=True))
            if not fired and time <= now_ms
        ]

    def _times(self) -> list[int]:
        return [self.since + timer.duration // timedelta(milliseconds=1) for timer in self.wait.timers]


class Met(msgspec.Struct, array_like=True):
    """What ended a wait: the messages it consumed, by Channel key, and which timers had fired."""

    messages: dict[str, list[int]]
    fired: list[bool]


encode = msgspec.msgpack.encode
decode = msgspec.msgpack.Decoder(Waiting).decode
decode_wait = msgspec.msgpack.Decoder(Wait).decode
decode_met = msgspec.msgpack.Decoder(Met).decode


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
