"""The time of a node, held to that of the journal servers: the journal's time only rises, and one wrong clock would
move it for all (spec: K-03).
"""

import logging
import time

from dex.engine.clock import Clock

_log = logging.getLogger("dex.cluster")

MOST_AHEAD_MS = 60_000
"""How far a record's time may be ahead of the moment at which a journal server took it."""

_WINDOW_MS = 600_000
# It goes on while the machine sleeps, where there is such a clock.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def bounded(at: int, taken_at: int) -> int:
    """Give the time in ms that a record counts with, on every node alike."""
    return min(at, taken_at + MOST_AHEAD_MS)


class JournalClock:
    """A clock that is never ahead of the journal's by more than that, once it has heard of it. Of any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # When the steady clock began, by the journal's time, 0 where that is not known. The highest of this
        # window and of the one before counts: what came late tells of less than the time that there was, and a server
        # whose clock was wrong once is forgotten.
        self._latest = self._earlier = 0
        self._window_ends = 0
        self._has_told = False

    @property
    def _began(self) -> int:
        return max(self._latest, self._earlier)

    def now_ms(self) -> int:
        """Give the time in milliseconds."""
        now = self._clock.now_ms()
        if not self._began:
            return now
        journal = self._began + _steady_ms()
        if now > journal + MOST_AHEAD_MS:
            self._tell(now - journal, "ahead of")
        return bounded(now, journal)

    def off(self) -> str:
        """Tell how far this machine's clock is off that of the journal servers; empty where it is right."""
        if not self._began:
            return ""
        ms = self._clock.now_ms() - self._began - _steady_ms()
        if abs(ms) <= MOST_AHEAD_MS:
            return ""
        return f"clock {abs(ms) // 1000} s {'ahead' if ms > 0 else 'behind'}"

    def monotonic(self) -> float:
        """Give the time in seconds on a clock that only goes forward."""
        return self._clock.monotonic()

    def new_id(self) -> str:
        """Give an id that nobody else has."""
        return self._clock.new_id()

    def heard(self, at: int, taken_at: int) -> None:
        """Take note of the time that the journal servers had lately, when they took what was sent here at another."""
        steady = _steady_ms()
        began = taken_at - steady
        if steady >= self._window_ends:
            self._window_ends = steady + _WINDOW_MS
            self._earlier, self._latest = self._latest, began
        self._latest = max(self._latest, began)
        if taken_at - at > MOST_AHEAD_MS:
            self._tell(taken_at - at, "behind")

    def _tell(self, ms: int, where: str) -> None:
        """Say once that a clock is wrong."""
        if not self._has_told:
            self._has_told = True
            _log.warning(
                "this machine's clock is %d s %s the journal servers' clocks: set them right, with NTP",
                ms // 1000,
                where,
            )


def _steady_ms() -> int:
    return time.clock_gettime_ns(_STEADY) // 1_000_000
