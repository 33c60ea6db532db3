"""How often and how soon a failed handler is tried again (spec: FL-08)."""

from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from typing import NoReturn

from dex.engine.flows.checking import check_fields, checked
from dex.wcl.errors import InvalidCommand, RetryAfterError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Backoff between tries.

    The first delay is `initial_interval`; each further one is `backoff_coefficient` times as long, up to
    `maximum_interval`. Tries end after `maximum_attempts` in all, or when the next one would begin more than
    `total_duration` after the first; zero is no limit for either. By default a handler is tried for ever, after
    1 s, 2 s, 4 s, … 100 s, since an outage is no reason to lose a Flow.
    """

    initial_interval: timedelta = timedelta(seconds=1)
    backoff_coefficient: float = 2.0
    maximum_interval: timedelta = timedelta(seconds=100)
    maximum_attempts: int = 0
    total_duration: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        check_fields(self, "(initial_interval=timedelta(seconds=1), maximum_attempts=3)")
        if self.initial_interval <= timedelta(0):
            raise InvalidCommand(f"initial_interval is {self.initial_interval}", "pass a duration above zero")
        if self.maximum_interval < self.initial_interval:
            raise InvalidCommand("maximum_interval is shorter than initial_interval", "make it as long or longer")
        if not isfinite(self.backoff_coefficient) or self.backoff_coefficient < 1:
            raise InvalidCommand(f"backoff_coefficient is {self.backoff_coefficient}", "pass 1 or more")
        if self.maximum_attempts < 0 or self.total_duration < timedelta(0):
            raise InvalidCommand("a limit of tries is negative", "pass zero for no limit")


def next_delay(policy: RetryPolicy, attempt: int, elapsed: timedelta = timedelta(0)) -> timedelta | None:
    """Give the delay after the try `attempt` (from 1) has failed, or None where it was the last.

    `elapsed` is the time since the first try began.
    """
    if policy.maximum_attempts and attempt >= policy.maximum_attempts:
        return None
    delay = _backoff(policy, attempt)
    return None if policy.total_duration and elapsed + delay > policy.total_duration else delay


@checked("retry_after(timedelta(seconds=30), 'the bank is closed')")
def retry_after(delay: timedelta, message: str = "") -> NoReturn:
    """End a Step's handler and have it tried again after `delay`; `raise retry_after(…)` reads well and works too.

    Raises:
        RetryAfterError: always.
    """
    raise RetryAfterError(delay, message)


def _backoff(policy: RetryPolicy, attempt: int) -> timedelta:
    ceiling = policy.maximum_interval / policy.initial_interval
    try:
        growth = policy.backoff_coefficient ** (attempt - 1)
    except OverflowError:
        growth = ceiling
    return policy.initial_interval * min(growth, ceiling)
