"""Trying a call again that has lost a lock: exponential backoff with full jitter, bounded (spec: H-05).

Locks do not queue callers, so who loses one waits a random while: then callers that met once do not meet again.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from dex.wcl.errors import RPCLockConflict

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LockRetry:
    """How often a call is tried, and how long at most to wait before each next try, in seconds.

    The wait is random between zero and `initial` doubled for each try so far, up to `maximum`.
    """

    attempts: int = 40
    initial: float = 0.004
    maximum: float = 0.5
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[float, float], float] = random.uniform

    def run(self, call: Callable[[], T]) -> T:
        """Give what `call` gives. Only lost locks are tried again: their handlers have not run.

        Raises:
            RPCLockConflict: the lock was held at each of the attempts.
        """
        for longest in self._longest_waits():
            try:
                return call()
            except RPCLockConflict:
                self.sleep(self.jitter(0.0, longest))
        return call()

    def _longest_waits(self) -> Iterator[float]:
        for attempt in range(self.attempts - 1):
            yield min(self.maximum, self.initial * 2.0 ** min(attempt, 60))
