"""Long results through the person's pager (spec: P-01)."""

import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from typing import BinaryIO

from dex.wcl.errors import InputError

DEFAULT = ["less", "-FRX"]
_ESCAPES = re.compile(rb"\x1b\[[0-9;]*m")


def pager_command(environ: Mapping[str, str]) -> list[str] | None:
    """Give the pager's program and options: $PAGER split as a shell would, else less; None for no pager.

    Raises:
        InputError: PAGER cannot be split, or its program is not there.
    """
    given = environ.get("PAGER")
    if given is None:
        return DEFAULT if shutil.which(DEFAULT[0]) else None
    try:
        command = shlex.split(given)
    except ValueError as error:
        raise InputError(f"PAGER is {given!r}, in which a quote is not closed", "correct it") from error
    if command and shutil.which(command[0]) is None:
        raise InputError(f"the pager {command[0]!r} is not there", "set PAGER to one that is, or to nothing")
    return None if command in ([], ["cat"]) else command


def fits(data: bytes, columns: int, rows: int) -> bool:
    """Tell whether a text can be seen at once, with a line left for the prompt."""
    if data.count(b"\n") >= rows:
        return False
    lines = _ESCAPES.sub(b"", data).decode("utf-8", "replace").splitlines()
    return sum(max(1, -(-len(line) // columns)) for line in lines) < rows


class Pager:
    """A pager that runs; write to it, then wait for the person to leave it."""

    def __init__(self, command: list[str], environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, env={"LESS": "FRX", **environ})

    @property
    def pipe(self) -> BinaryIO:
        """Where the pager reads from."""
        assert self._process.stdin is not None  # noqa: S101 - it was made as a pipe
        return self._process.stdin  # type: ignore[return-value]  # a pipe of bytes

    def wait(self) -> None:
        """End its input and wait until the person leaves it; Ctrl-C is the pager's meanwhile."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self.pipe.close()
        except BrokenPipeError:
            pass  # the person left before the end
        finally:
            self._process.wait()
            signal.signal(signal.SIGINT, before)
