"""What has failed lately, in memory and without values: for a page that may show no more than who may read it knows."""

import re
import threading
from collections import OrderedDict
from typing import NamedTuple

from dex.engine.clock import Clock
from dex.wcl.errors import Conflict, DexError, LongPollTimeoutError, RetryAfterError, WorkerInvocationError

_REASONS = frozenset({"unique", "mutation_id", "index_behind", "source", "lock", "flow"})
# Told by an error, and yet nothing has failed: nothing has happened yet, and a Step wants to look again later.
_EXPECTED = (LongPollTimeoutError, RetryAfterError)


class Failure(NamedTuple):
    """The same failure at the same place, `times` so far, the last at `at` in ms; `detail` may be empty."""

    place: str
    kind: str
    meaning: str
    detail: str
    times: int
    at: int


class RecentFailures:
    """Keeps up to `most` failures that differ, and forgets the one that has not happened for longest."""

    def __init__(self, clock: Clock, most: int = 50) -> None:
        self._clock = clock
        self._most = most
        self._mutex = threading.Lock()
        self._kept: OrderedDict[tuple[str, type, str], Failure] = OrderedDict()

    def note(self, place: str, error: DexError) -> None:
        """Note that something failed at a place: a route, or a handler."""
        if isinstance(error, _EXPECTED):
            return
        detail = _detail(error)
        key = place, type(error), detail
        with self._mutex:
            before = self._kept.pop(key, None)
            times = 1 if before is None else before.times + 1
            self._kept[key] = Failure(place, error.kind, _meaning(type(error)), detail, times, self._clock.now_ms())
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def latest(self) -> list[Failure]:
        """Give what is kept, the latest first."""
        with self._mutex:
            return list(reversed(self._kept.values()))


def _meaning(error: type[DexError]) -> str:
    """Say what all errors of a type mean: their messages name values, and their documentation does not."""
    line = (error.__doc__ or error.__name__).partition("\n")[0]
    return re.split(r"; | \(spec| Fact", line)[0].rstrip(".")


def _detail(error: DexError) -> str:
    """Tell what is particular about an error, and no value: why a conflict, or where a handler's fault."""
    if isinstance(error, WorkerInvocationError):
        told = [error.facts.get("handler"), error.facts.get("error_type"), error.facts.get("at")]
        return " · ".join(str(part) for part in told if part)
    reason = error.facts.get("reason")
    return str(reason) if isinstance(error, Conflict) and reason in _REASONS else ""
