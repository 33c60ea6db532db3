"""A home of its own for every shell."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dex.engine.local import LocalEngine
from dex.wcl.parser import parse
from tests.cli.shell.terminal import CTRL_D, DEX, Terminal
from tests.directories import fast_directory

Open = Callable[..., Terminal]
DEFINE = "DEFINE STATESTORE accounts.employees KEYS department, passport UNIQUE"


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty home directory."""
    with fast_directory() as path:
        yield path


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    """The environment of a person without settings, at a terminal with colours."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(home), "DEX_DATA_DIR": str(home / "data"), "TERM": "xterm-256color", "PAGER": "cat"}


@pytest.fixture
def define(home: Path) -> Callable[[str], None]:
    """Run statements on the target before the shell is opened."""

    def run(text: str) -> None:
        engine = LocalEngine(home / "data")
        for parsed in parse(text):
            engine.execute(parsed.command)
        engine.close()

    return run


@pytest.fixture
def open_shell(environ: dict[str, str]) -> Iterator[Open]:
    """Open shells on terminals; variables are added to the environment, and None takes one away."""
    opened: list[Terminal] = []

    def start(
        *arguments: str, rows: int = 40, answers: bool = True, program: str = DEX, **variables: str | None
    ) -> Terminal:
        merged = {**environ, **variables}
        present = {name: value for name, value in merged.items() if value is not None}
        opened.append(Terminal(list(arguments), present, rows=rows, answers=answers, program=program))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.child.close(force=True)


def leave(terminal: Terminal) -> None:
    """Leave a shell that shows an empty prompt."""
    terminal.ready()
    terminal.send(CTRL_D)
    assert terminal.end() == 0
