"""Real processes that talk in lines."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_PATIENCE = 60.0
_ROOT = Path(__file__).parents[2]


class Child:
    """A Python process that runs `code` with `arguments`; its standard streams are pipes of lines."""

    def __init__(self, code: str, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=_ROOT,  # so that it finds this package too
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()

    def say(self, line: str) -> None:
        """Give the process a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        """Wait for the next line; an empty one is the end."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def signal(self, number: int) -> None:
        """Send a signal to this process, and to no other."""
        os.kill(self.process.pid, number)

    def end(self) -> list[str]:
        """Wait for the process to end well, and give the lines not heard yet."""
        out, err = self.process.communicate(timeout=_PATIENCE)
        assert (self.process.returncode, err) == (0, "")
        return out.splitlines()


def pause(process: int, database: Path) -> None:
    """Stop a process in its tracks, but not in the middle of a commit: the file would be locked for everybody."""
    with closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as connection:
        while True:
            os.kill(process, signal.SIGSTOP)
            while not _has_stopped(process):
                pass
            with suppress(sqlite3.OperationalError):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
                return
            os.kill(process, signal.SIGCONT)


def _has_stopped(process: int) -> bool:
    states = (task.read_text().rpartition(") ")[2][0] for task in Path(f"/proc/{process}/task").glob("*/stat"))
    return all(state == "T" for state in states)
