"""What every engine is: one door for typed commands."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from dex.wcl.commands import Command
from dex.wcl.errors import DexError

R = TypeVar("R")


class Engine(Protocol):
    """Executes typed commands against one target. Safe to share between threads."""

    def execute(self, command: Command[R]) -> R:
        """Carry out one command and give its result.

        Raises:
            DexError: of the kind that fits; a mutation that raises has changed nothing.
        """

    def execute_many(self, commands: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Carry out commands in order; each succeeds or fails alone, and neighbouring mutations share a commit.

        Gives for each command its result, or the error it raised.
        """

    @property
    def writes(self) -> int:
        """How many times something was sent to be written so far, whatever became of it."""

    def settle(self, on_pass: Callable[[], None] | None = None) -> None:
        """Do all housekeeping that is this process's now; `on_pass` is called between passes."""

    def close(self) -> None:
        """Release files and threads; a closed engine raises Unavailable."""
