"""Interrupts at a chosen line: what Ctrl-C does at a moment that no signal could be timed to hit."""

import linecache
import sys
import threading
from collections.abc import Callable
from typing import Any

PATIENCE = 20.0


class Caller(threading.Thread):
    """Does one thing in a thread of its own and keeps what came of it.

    `interrupt_at` names a source file by its end, and which line to be run in it raises KeyboardInterrupt.
    """

    def __init__(self, call: Callable[[], Any], interrupt_at: tuple[str, int] = ("", 0)) -> None:
        super().__init__(daemon=True)
        self._call = call
        self._file, self._lines = interrupt_at
        self.result: Any = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        if self._lines:
            sys.settrace(self._trace)
        try:
            self.result = self._call()
        except BaseException as error:  # noqa: BLE001  # kept for the test to look at
            self.error = error
        finally:
            sys.settrace(None)

    def _trace(self, frame: Any, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.endswith(self._file):
            return None
        # Python does not look for signals between a block under `with` and its end, where it counts the `with` again.
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if event == "line" and not line.startswith("with "):
            self._lines -= 1
            if self._lines == 0:
                raise KeyboardInterrupt
        return self._trace

    @property
    def interrupted(self) -> bool:
        return isinstance(self.error, KeyboardInterrupt)

    def end(self) -> "Caller":
        self.join(PATIENCE)
        assert not self.is_alive(), "the caller hangs"
        return self
