"""Where results go in the shell: to the screen, through a pager if they are long, or to a file (spec: P-01)."""

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from dex.cli.shell.pager import Pager, fits, pager_command
from dex.wcl.errors import InputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Results:
    """The present destination of results. `note` tells the person what went wrong with a pager, once."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._warned = False
        self._file: BinaryIO | None = None
        self.path: str | None = None

    def send_to(self, path: str | None) -> None:
        """Send what comes from now on to a file, written anew, or with None back to the screen.

        Raises:
            InputError: the file cannot be written; the destination stays as it is.
        """
        try:
            file = None if path is None else Path(path).expanduser().open("wb")
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}", "check the path", file=path) from error
        self.close()
        self._file, self.path = file, path

    def close(self) -> None:
        """Close the file that results went to."""
        if self._file is not None:
            self._file.close()
        self._file = self.path = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """Take standard output to the present destination."""
        if self._file is None:
            with self.screen():
                yield
            return
        with _standard_output(self._file):
            try:
                yield
            finally:
                self._file.flush()

    @contextmanager
    def screen(self) -> Iterator[None]:
        """Take standard output to the screen, page by page where it is long."""
        terminal = sys.stdout.buffer
        if not terminal.isatty():
            yield
            return
        held = Held(terminal, self._start_pager)
        with _standard_output(held):
            try:
                yield
            finally:
                held.finish()

    def _start_pager(self) -> Pager | None:
        try:
            command = pager_command(os.environ)
            return Pager(command, os.environ) if command else None
        except (InputError, OSError) as error:
            if not self._warned:
                self._note(f"warning: {error}; results are shown without a pager")
            self._warned = True
            return None


class Held(io.BufferedIOBase):
    """Output that is held back until it is longer than the screen; then all of it goes through the pager.

    A flush says that somebody follows what comes, so it hands over what is held and ends the holding.
    """

    def __init__(self, terminal: BinaryIO, start_pager: Callable[[], Pager | None]) -> None:
        self._terminal = terminal
        self._start_pager = start_pager
        self._held = bytearray()
        self._target: BinaryIO | None = None
        self._pager: Pager | None = None
        self._ends_line = True

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

    def isatty(self) -> bool:
        """Tell that a person looks at it."""
        return True

    def write(self, data: "ReadableBuffer") -> int:
        """Take bytes.

        Raises:
            BrokenPipeError: the person has left the pager.
        """
        written = memoryview(data).nbytes
        self._ends_line = memoryview(data)[-1:].tobytes() == b"\n" if written else self._ends_line
        if self._target is None:
            self._held += data
            size = shutil.get_terminal_size()
            if fits(bytes(self._held), size.columns, size.lines):
                return written
            self._pager = self._start_pager()
            self._release(self._terminal if self._pager is None else self._pager.pipe)
        else:
            self._target.write(data)
        return written

    def flush(self) -> None:
        """Hand over what is held."""
        if self._target is None:
            self._release(self._terminal)
        elif not self._target.closed:
            self._target.flush()

    def finish(self) -> None:
        """Hand over the rest, so that the prompt starts a line, and wait until the person has left the pager."""
        if self._pager is not None:
            self._pager.wait()
            return
        if not self._ends_line:
            self.write(b"\n")
        self.flush()

    def _release(self, target: BinaryIO) -> None:
        self._target = target
        target.write(self._held)
        self._held.clear()
        target.flush()


class _Text(io.TextIOWrapper):
    """Text over a binary stream. Its flush stays here: libraries flush after every line they print."""

    def flush(self) -> None:
        """Do nothing: every write goes through at once."""


@contextmanager
def _standard_output(stream: BinaryIO | Held) -> Iterator[None]:
    text = _Text(cast("BinaryIO", stream), encoding="utf-8", errors="backslashreplace", write_through=True)
    try:
        with redirect_stdout(text):
            yield
    finally:
        text.detach()
