"""Where a command of a request is carried out, so that none holds up the others.

A look-up of one row takes less time than handing it to a thread; mutations share commits; handlers and long polls,
which may take long, have threads of their own, so that whoever waits takes no place of those who do not.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from dex.engine.local import LocalEngine
from dex.engine.machine import MUTATIONS
from dex.engine.server.commits import SharedCommits
from dex.wcl.commands import Command, GetRow
from dex.wcl.errors import DexError, Unavailable

R = TypeVar("R")

_QUICK_THREADS = 8
_HANDLER_THREADS = 32
_WAITING_THREADS = 128
_MOST_QUEUED = 1000


class Lane:
    """Threads for one kind of work, and how much of it may be under way."""

    def __init__(self, name: str, threads: int, limit: int) -> None:
        self._threads = ThreadPoolExecutor(threads, f"dex-{name}")
        self._name = name
        self._limit = limit
        self._busy = 0

    async def run(self, work: Callable[[], R]) -> R:
        """Do some work in a thread.

        Raises:
            Unavailable: too much is under way already.
        """
        if self._busy >= self._limit:
            raise Unavailable(f"{self._busy} {self._name} requests are under way already", "try again later")
        self._busy += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._busy -= 1

    def close(self) -> None:
        """Finish what is under way."""
        self._threads.shutdown()


class Dispatcher:
    """Carries out commands for requests. Belongs to one event loop."""

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine
        self.commits = SharedCommits(engine)
        self._quick = Lane("reading", _QUICK_THREADS, _MOST_QUEUED)
        self.handlers = Lane("handler", _HANDLER_THREADS, _MOST_QUEUED)
        self._waiting = Lane("waiting", _WAITING_THREADS, _WAITING_THREADS)

    async def execute(self, command: Command[R]) -> R:
        """Carry out one command and give its result.

        Raises:
            DexError: as `Engine.execute`; Unavailable also where too much is under way.
        """
        if type(command) is GetRow and not command.strict:
            return self.engine.execute(command)  # type: ignore[return-value]  # R by the command's own declaration
        if type(command) in MUTATIONS:
            (result,) = await self.commits.write((command,))
            if isinstance(result, DexError):
                raise result
            return result  # type: ignore[no-any-return]  # as above
        return await self._lane(command).run(lambda: self.engine.execute(command))

    async def execute_many(self, commands: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Carry out commands in order; each succeeds or fails alone."""
        if len(commands) == 1:
            try:
                return [await self.execute(commands[0])]
            except DexError as error:
                return [error]
        if all(type(command) in MUTATIONS for command in commands):
            return await self.commits.write(commands)
        lanes = [self._lane(command) for command in commands]
        lane = next((lane for lane in (self._waiting, self.handlers) if lane in lanes), self._quick)
        return await lane.run(lambda: self.engine.execute_many(commands))

    def _lane(self, command: Command[Any]) -> Lane:
        if getattr(command, "wait_ms", 0) and getattr(command, "strict", True):
            return self._waiting
        return self.handlers if command.__struct_config__.tag in _CALLS else self._quick

    def close(self) -> None:
        """Finish what was accepted, then end the threads."""
        for part in (self._waiting, self.handlers, self._quick, self.commits):
            part.close()


_CALLS = frozenset({"invoke_rpc", "start_flow", "set_attributes", "publish_messages"})
