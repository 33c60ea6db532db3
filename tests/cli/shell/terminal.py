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


class _Screen(pyte.Screen):
    """A screen that answers the questions a terminal is asked, such as where the cursor is."""

    answer: Callable[[str], Any]

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class Terminal:
    """The shell in a terminal of 100 columns; leave it to end the process."""

    def __init__(self, arguments: list[str], environ: dict[str, str], *, rows: int = 40, answers: bool = True) -> None:
        self.child = pexpect.spawn(
            DEX, arguments, env=environ, dimensions=(rows, 100), encoding="utf-8", timeout=TIMEOUT, echo=False
        )
        self.child.delaybeforesend = None
        self._screen = _Screen(100, rows)
        self._screen.answer = self.child.send if answers else len
        self._stream = pyte.Stream(self._screen)
        self.raw = ""

    @property
    def lines(self) -> list[str]:
        """What the screen shows."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """What the screen shows, as one text."""
        return "\n".join(self.lines).rstrip()

    def ready(self, prompt: str = "dex>") -> str:
        """Wait for a prompt with nothing typed, and give the screen."""
        return self.until(lambda: self._line() == prompt and self._screen.cursor.x == len(prompt) + 1)

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

    def run(self, line: str) -> str:
        """Type a line on an empty prompt, wait for the next one, and give what came between."""
        self.ready()
        before = len(self.raw)
        self.send(line + ENTER)
        self.until(lambda: "\n" in self.raw[before:])
        self.ready()
        return self._after(line)

    def end(self) -> int:
        """Wait for the end, and give the exit code."""
        self.child.expect(pexpect.EOF)
        self._feed(self.child.before)
        self.child.close()
        return int(self.child.exitstatus)

    def _line(self) -> str:
        return self.lines[self._screen.cursor.y].rstrip()

    def _after(self, line: str) -> str:
        """Give what the screen shows between the last typing of a line and the prompt."""
        shown = [index for index, text in enumerate(self.lines) if text.endswith(line.splitlines()[-1].rstrip())]
        return "\n".join(self.lines[(shown or [-1])[-1] + 1 : self._screen.cursor.y])

    def _feed(self, text: str) -> None:
        self.raw += text
        self._stream.feed(text)


def plain(raw: str) -> str:
    """Give a text without the sequences that move the cursor and set colours."""
    return re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>78])", "", raw)
