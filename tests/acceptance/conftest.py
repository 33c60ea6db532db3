"""The installed `dex`, run as a process of its own in a clean environment."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.directories import fast_directory

DEX = Path(sys.executable).with_name("dex")


class Done(NamedTuple):
    """How a run of `dex` ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode()

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as lines of JSON."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, Any]:
        """The error that standard error has as JSON, and nothing else."""
        found: dict[str, Any] = json.loads(self.err)["error"]
        return found


class Dex:
    """Runs `dex` with arguments; `home` is its working directory and `environ` its environment."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ = {
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "PATH": f"{DEX.parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "xterm",
        }

    def __call__(
        self,
        *args: str | bytes,
        input: bytes | str = b"",
        env: dict[str, str] | None = None,
    ) -> Done:
        """Run to the end; no run may show a traceback."""
        done = subprocess.run(
            [DEX, *args],
            input=input.encode() if isinstance(input, str) else input,
            env={**self.environ, **(env or {})},
            cwd=self.home,
            capture_output=True,
            timeout=60,
            check=False,
        )
        result = Done(done.returncode, done.stdout, done.stderr.decode())
        assert "Traceback" not in result.err
        return result

    def ok(self, *args: str | bytes, input: bytes | str = b"") -> Done:
        """Run what must succeed."""
        result = self(*args, input=input)
        assert result.code == 0, result.err
        return result

    def start(self, *args: str, stdin_pipe: bool = False, **options: Any) -> "subprocess.Popen[bytes]":
        """Start a process and leave it to the test."""
        return subprocess.Popen(
            [DEX, *args],
            env=self.environ,
            cwd=self.home,
            stdin=subprocess.PIPE if stdin_pipe else subprocess.DEVNULL,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )


@pytest.fixture
def dex() -> Iterator[Dex]:
    """`dex` with a home, configuration and data of its own."""
    with fast_directory() as home:
        yield Dex(home)


@pytest.fixture
def employees(dex: Dex) -> Dex:
    """`dex` with the store accounts.employees, whose keys are department and the unique passport."""
    dex.ok("wcl", "DEFINE STATESTORE accounts.employees KEYS department, passport UNIQUE")
    return dex


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse to run without the command: these tests are about nothing else."""
    if items and not os.access(DEX, os.X_OK):
        pytest.exit(f"{DEX} is not there: install the package first", returncode=2)
