"""Time and ids come from here, so that tests can move the one and fix the other."""

import time
from datetime import UTC, datetime
from typing import Protocol
from uuid import uuid4


class Clock(Protocol):
    """What the engine asks of time and chance."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds on a clock that only goes forward."""

    def new_id(self) -> str:
        """An id that nobody else has."""


class SystemClock:
    """The machine's clock and random ids."""

    def now_ms(self) -> int:
        """Give the machine's time in milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Give the machine's monotonic time in seconds."""
        return time.monotonic()

    def new_id(self) -> str:
        """Give a random UUID as 32 hexadecimal digits."""
        return uuid4().hex


LATEST_MS = 253_402_300_799_999
"""The end of the year 9999, the last moment that can be written as a date."""


def iso(ms: int) -> str:
    """Give milliseconds since the epoch as ISO 8601 in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
