"""A clock that tests move by hand."""

from itertools import count

DAY_MS = 24 * 3600 * 1000


class FakeClock:
    """Starts at a fixed moment. Every look at the monotonic clock moves it by a millisecond, so that waits end."""

    def __init__(self, ms: int = 1_700_000_000_000) -> None:
        self.ms = ms
        self._ids = count(1)
        self._ticks = count(1)

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return next(self._ticks) / 1000

    def new_id(self) -> str:
        return f"id-{next(self._ids)}"

    def advance(self, ms: int) -> None:
        """Move on; a negative step is a clock that somebody set back."""
        self.ms += ms
