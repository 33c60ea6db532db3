"""The time limit of a whole command (`--timeout`)."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SHARE = 0.9


class Expired(BaseException):
    """The command ran out of time.

    Like KeyboardInterrupt it is no Exception, so that nothing that handles the errors of a step takes it. `during`
    says what was under way, where that is known, and `wrote` whether the command had begun to write anything.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.during = ""
        self.wrote = False
        super().__init__(seconds)


def left(seconds: float) -> float:
    """Give how much of the time limit is left for what is to say itself why it did not end in time."""
    return (signal.getitimer(signal.ITIMER_REAL)[0] or seconds) * _SHARE


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise Expired in the main thread when `seconds` have passed; None means no limit."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(_signal: int, _frame: FrameType | None) -> None:
        raise Expired(seconds)

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
