"""A person at a terminal: the installed `dex` on a pty, and the screen as it looks."""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pyte

DEX = str(Path(sys.executable).with_name("dex"))
ENTER, TAB, UP = "\r", "\t", "\x1b[A"
CTRL_C, CTRL_D, CTRL_R = "\x03", "\x04", "\x12"
TIMEOUT = 20
# A prompt switches the pasting of several lines on when it opens, with the keyboard in raw mode by then, and off.
OPENED, CLOSED = "\x1b[?2004h", "\x1b[?2004l"


class _Screen(pyte.Screen):
    """A screen that answers the questions a terminal is asked, such as where the cursor is."""

    answer: Callable[[str], Any]

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class Terminal:
    """The shell in a terminal of 100 columns; leave it to end the process."""

    def __init__(
        self,
        arguments: list[str],
        environ: dict[str, str],
        *,
        rows: int = 40,
        answers: bool = True,
        program: str = DEX,
    ) -> None:
        self.child = pexpect.spawn(
            program, arguments, env=environ, dimensions=(rows, 100), encoding="utf-8", timeout=TIMEOUT, echo=False
        )
        self.child.delaybeforesend = None
        self._screen = _Screen(100, rows)
        self._screen.answer = self.child.send if answers else len
        self._stream = pyte.Stream(self._screen)
        self.raw = ""
        self._seen = 0

    @property
    def lines(self) -> list[str]:
        """What the screen shows."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """What the screen shows, as one text."""
        return "\n".join(self.lines).rstrip()

    def ready(self) -> str:
        """Wait for a prompt that is newer than what was submitted, with nothing typed; give the screen."""
        return self.until(lambda: self._opened > self._seen and self._stands_at("dex>"))

    def continued(self) -> str:
        """Wait for the prompt of a further line, and give the screen."""
        return self.until(lambda: self._stands_at("  ->"))

    def until(self, wanted: str | Callable[[], bool]) -> str:
        """Read until the screen shows a text or fulfils a condition, and give the screen."""
        deadline = time.monotonic() + TIMEOUT
        while not (wanted() if callable(wanted) else wanted in self.text):
            try:
                assert time.monotonic() < deadline, f"waited for {wanted!r} and saw\n{self.text}"
                self._feed(self.child.read_nonblocking(65536, timeout=TIMEOUT))
            except (pexpect.TIMEOUT, pexpect.EOF) as error:
                raise AssertionError(f"waited for {wanted!r} and saw\n{self.text}") from error
        return self.text

    def send(self, keys: str) -> None:
        """Press keys."""
        self.child.send(keys)

    def submit(self, keys: str) -> None:
        """Press keys that end the input at the prompt."""
        self._seen = self._opened
        self.send(keys)

    def run(self, line: str) -> str:
        """Type a line on an empty prompt, wait for the next one, and give what came between."""
        self.ready()
        self.submit(line + ENTER)
        self.ready()
        return plain(self.raw[: self.raw.rindex(OPENED)].rpartition(CLOSED)[2])

    def end(self) -> int:
        """Wait for the end, and give the exit code."""
        self.child.expect(pexpect.EOF)
        self._feed(self.child.before)
        self.child.close()
        return int(self.child.exitstatus)

    @property
    def _opened(self) -> int:
        """How many prompts there were so far."""
        return self.raw.count(OPENED)

    def _stands_at(self, prompt: str) -> bool:
        """Tell whether the cursor stands after a prompt, with nothing typed."""
        is_open = self._opened > self.raw.count(CLOSED)
        return is_open and self.lines[self._screen.cursor.y] == prompt and self._screen.cursor.x == 5

    def _feed(self, text: str) -> None:
        self.raw += text
        self._stream.feed(text)


def plain(raw: str) -> str:
    """Give a text without the sequences that move the cursor and set colours."""
    return re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>78])|\r", "", raw).strip("\n")
