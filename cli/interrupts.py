"""Ctrl-C: it ends a process at once where nothing is under way, and is raised inside of a command.

While modules are imported an exception can strike where nothing can handle it, so that none is raised then. This
module is imported before any other and imports only what is built in.
"""

import _signal  # type: ignore[import-not-found]  # what signal is made of; that would cost 6 ms, for its enums
import os

INTERRUPTED = 130


def end_at_once(_number: int, _frame: object) -> None:
    """End the process as Ctrl-C does; nothing is open and nothing has been done that anybody waits for."""
    try:
        os.write(2, b"cancelled\n")
    finally:
        os._exit(INTERRUPTED)


def install() -> None:
    """Let Ctrl-C end the process at once, unless whoever started it has it ignored."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, end_at_once)


class Interruptible:
    """While it is entered Ctrl-C raises KeyboardInterrupt, where it would have ended the process at once."""

    def __enter__(self) -> None:
        self._moved = _signal.getsignal(_signal.SIGINT) is end_at_once
        if self._moved:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)

    def __exit__(self, *_error: object) -> None:
        if self._moved:
            _signal.signal(_signal.SIGINT, end_at_once)
