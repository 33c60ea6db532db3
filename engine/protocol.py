"""What every engine is: one door for typed commands."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dex.wcl.commands import Command
from dex.wcl.errors import DexError

if TYPE_CHECKING:
    from dex.engine.failures import Failure
    from dex.engine.vitals import Vitals
    from dex.wcl.commands.sync import SyncTotals

R = TypeVar("R")

ANYWHERE = -1
"""The place of a command that may have to wait for any."""


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


class SyncSeen(Protocol):
    """What a process tells of its part in Attribute Store sync. `error` is what ended it before its time."""

    error: str | None

    @property
    def state(self) -> str:
        """Whether this process writes (owner), or would once another one ends (standby)."""

    @property
    def stores(self) -> list[str]:
        """The names of the stores."""


class NodesSync(SyncSeen, Protocol):
    """The same of an engine that syncs by itself."""

    def metrics(self, totals: "SyncTotals") -> str:
        """Give the five metrics of sync in Prometheus' text format; `totals` are of this moment."""


class Node(Engine, Protocol):
    """An engine that a server stands before: it also tells how it is."""

    @property
    def data_dir(self) -> Path:
        """The data directory."""

    @property
    def secret(self) -> str:
        """By which the other nodes of a cluster know each other; empty where there are none."""

    @property
    def sync(self) -> NodesSync | None:
        """Its part in sync, where it syncs by itself."""

    def serve_at(self, url: str) -> None:
        """Begin the work that belongs to the engine; others reach it at `url` from now on.

        Raises:
            DexError: it cannot be begun.
        """

    def hand_over(self) -> None:
        """Leave to other nodes what only one does, and answer as before: this one is about to stop.

        Raises:
            DexError: not all is handed over.
        """

    def probe(self, seconds: float) -> None:
        """Look whether something can be committed.

        Raises:
            DexError: it cannot, or not within some seconds.
        """

    def place(self, command: Command[Any]) -> int:
        """Tell apart commands that need not wait for each other, in no time; 0 is of what only this process is for."""

    def hindrance(self) -> str:
        """Tell what holds up commands now, as far as that is known; empty where nothing does."""

    def vitals(self) -> "Vitals":
        """Measure the data directory."""

    def failures(self) -> "list[Failure]":
        """Give the latest failures of handlers that nobody called."""
