"""Where a command of a request is carried out, so that none holds up the others.

A look-up of one row takes less time than handing it to a thread; mutations share commits; handlers and long polls,
which may take long, have threads of their own, so that whoever waits takes no place of those who do not.
"""

import asyncio
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from dex.engine.machine import MUTATIONS
from dex.engine.protocol import ANYWHERE, Node
from dex.engine.remote.trying import may_be_applied
from dex.engine.server.commits import Commits
from dex.engine.server.journalwatch import JournalWatch
from dex.engine.server.timeouts import SECONDS
from dex.wcl.commands import Command, GetRow, ShowFreshness
from dex.wcl.errors import DexError, RequestTimeoutError, RPCLockConflict, Unavailable
from dex.wcl.scopes import scope_of

R = TypeVar("R")

HANDLER_THREADS = 32
"""How many handlers may be called at once."""

_QUICK_THREADS = 8
_FLOW_THREADS = 16
_WAITING_THREADS = 128
_STREAM_THREADS = 4
_MOST_STREAMS = 2000
_MOST_QUEUED = 1000
_REQUEST_SECONDS = 120.0


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
        doing = asyncio.get_running_loop().run_in_executor(self._threads, work)
        doing.add_done_callback(self._leave)
        return await asyncio.shield(doing)  # whoever waits no longer has not ended it

    def _leave(self, done: "asyncio.Future[Any]") -> None:
        self._busy -= 1
        if not done.cancelled():
            done.exception()  # where nobody waits for it any more, asyncio would log it with a traceback

    def close(self, *, wait: bool = True) -> None:
        """Finish what is under way, or leave it to end with the engine."""
        self._threads.shutdown(wait=wait)


class Lanes:
    """A lane for each kind of command."""

    def __init__(self) -> None:
        self.quick = Lane("reading", _QUICK_THREADS, _MOST_QUEUED)
        # In a cluster it may be another node that is asked, which may hang.
        self.flows = Lane("flow", _FLOW_THREADS, _MOST_QUEUED)
        self.handlers = Lane("handler", HANDLER_THREADS, _MOST_QUEUED)
        self.waiting = Lane("waiting", _WAITING_THREADS, _WAITING_THREADS)

    def of(self, commands: Sequence[Command[Any]]) -> Lane:
        """Give the lane of commands that are carried out together: that of what may take longest."""
        lanes = {self._of_one(command) for command in commands}
        return next(lane for lane in (self.waiting, self.handlers, self.flows, self.quick) if lane in lanes)

    def _of_one(self, command: Command[Any]) -> Lane:
        if getattr(command, "wait_ms", 0) and getattr(command, "strict", True):
            return self.waiting
        if command.__struct_config__.tag in _CALLS:
            return self.handlers
        return self.flows if hasattr(command, "flow_id") else self.quick

    def close(self) -> None:
        """Finish what was accepted, but for long polls: they end when the engine is closed."""
        self.waiting.close(wait=False)
        for lane in (self.handlers, self.flows, self.quick):
            lane.close()


class Streams:
    """The streams that are under way: fewer than connections, so that those who only listen leave some to others."""

    def __init__(self) -> None:
        self._open = 0

    def check(self) -> None:
        """Refuse one more where there are too many.

        Raises:
            Unavailable: with how many there are.
        """
        if self._open >= _MOST_STREAMS:
            raise Unavailable(f"{self._open} streams are under way already", "try again later, or read pages")

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one more meanwhile."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


class Dispatcher:
    """Carries out commands for requests. Belongs to one event loop.

    `seconds` is how long a command may take beyond what it asks to wait; `lock_conflicts` counts calls that met a lock.
    Once `stopping` is set nothing waits for what may yet come: streams end, and long polls are refused.
    """

    def __init__(self, engine: Node, seconds: float = _REQUEST_SECONDS) -> None:
        self.engine = engine
        self.lock_conflicts = 0
        self._seconds = seconds
        self.stopping = asyncio.Event()
        self._commits = Commits(engine)
        # By place, so that an owner that hangs holds up nobody but who waits for it.
        self._lanes_of = defaultdict[int, Lanes](Lanes)
        self._lanes = self._lanes_of[0]
        # Two nodes that forward to each other would wait for each other for ever, had what comes from a node to wait
        # for what goes to one.
        self._forwarded = Lanes()
        self.streams = Streams()
        # Each stream has one read under way at most.
        self._stream_reads = Lane("streaming", _STREAM_THREADS, sys.maxsize)
        self.journal = JournalWatch(self._position, self.stopping)

    async def execute(self, command: Command[R]) -> R:
        """Carry out one command and give its result.

        Raises:
            DexError: as `Engine.execute`; Unavailable also where too much is under way.
        """
        if type(command) is GetRow and not command.strict:
            return self.engine.execute(command)  # type: ignore[return-value]  # R by the command's own declaration
        if type(command) in MUTATIONS:
            (result,) = await self._in_time(self._commits.write((command,)), (command,))
            if isinstance(result, DexError):
                raise result
            return result  # type: ignore[no-any-return]  # as above
        try:
            return await self._within(self._lanes_for((command,)), lambda: self.engine.execute(command), (command,))
        except RPCLockConflict:
            self.lock_conflicts += 1
            raise

    async def execute_here(self, command: Command[R], work: Callable[[], R]) -> R:
        """Do the work of a command that another node has forwarded.

        Raises:
            DexError: as `execute`.
        """
        return await self._within(self._forwarded, work, (command,))

    async def call(self, work: Callable[[], R]) -> R:
        """Do what may call handlers of people."""
        return await self._lanes.handlers.run(work)

    async def compute(self, work: Callable[[], R]) -> R:
        """Do what needs no engine and takes a while, such as reading a long text, in a thread."""
        return await self._lanes.quick.run(work)

    async def read(self, command: Command[R]) -> R:
        """Carry out a read of a stream: streams wait for each other and hold up nobody else.

        Raises:
            DexError: as `Engine.execute`.
        """
        return await self._stream_reads.run(lambda: self.engine.execute(command))

    async def _position(self) -> int:
        return (await self.read(ShowFreshness())).committed_seq

    async def _unless_stopping(self, waiting: Coroutine[Any, Any, R]) -> R:
        """Give what a long poll gives.

        Raises:
            Unavailable: the server is being stopped meanwhile.
        """
        poll, stop = asyncio.ensure_future(waiting), asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait((poll, stop), return_when=asyncio.FIRST_COMPLETED)
            if poll.done():
                return poll.result()
            raise Unavailable("the server is being stopped", "ask again, or ask another server")
        finally:
            stop.cancel()
            poll.cancel()

    async def execute_many(self, commands: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Carry out commands in order; each succeeds or fails alone."""
        if len(commands) == 1:
            try:
                return [await self.execute(commands[0])]
            except DexError as error:
                return [error]
        if all(type(command) in MUTATIONS for command in commands):
            return await self._in_time(self._commits.write(commands), commands)
        lanes = self._lanes_for(commands)
        results = await self._within(lanes, lambda: self.engine.execute_many(commands), commands)
        self.lock_conflicts += sum(isinstance(result, RPCLockConflict) for result in results)
        return results

    def _lanes_for(self, commands: Sequence[Command[Any]]) -> Lanes:
        places = {self.engine.place(command) for command in commands}
        return self._lanes_of[places.pop() if len(places) == 1 else ANYWHERE]

    async def _within(self, lanes: Lanes, work: Callable[[], R], commands: Sequence[Command[Any]]) -> R:
        """Do the work of commands in their lane, a long poll until the server is being stopped if it writes nothing."""
        lane = lanes.of(commands)
        doing: Coroutine[Any, Any, R] = lane.run(work)
        if lane is not lanes.waiting:
            return await self._in_time(doing, commands)
        if all(scope_of(command) == "read" for command in commands):
            doing = self._unless_stopping(doing)
        waits_ms: int = sum(getattr(command, "wait_ms", 0) for command in commands)
        return await self._in_time(doing, commands, waits_ms / 1000)

    async def _in_time(self, doing: Awaitable[R], commands: Sequence[Command[Any]], waits: float = 0.0) -> R:
        """Give what comes of commands, which may take some seconds more where they wait.

        Raises:
            RequestTimeoutError: it takes longer.
            Unavailable: it takes longer than who asks waits.
        """
        most = self._seconds + waits
        seconds = min(most, SECONDS.get())
        try:
            async with asyncio.timeout(seconds):
                return await doing
        except TimeoutError as error:
            if seconds < most:
                raise self._overrun(commands, seconds) from error
            raise RequestTimeoutError(
                f"the request took longer than {most:g} s, and may or may not be carried out",
                "look before you repeat it",
            ) from error

    def _overrun(self, commands: Sequence[Command[Any]], seconds: float) -> Unavailable:
        """Give the error for what takes longer than who asks waits, with what holds it up where that is known."""
        told = self.engine.hindrance() or f"this takes longer than the {seconds:.1f} s that were given"
        if any(scope_of(command) != "read" for command in commands):
            return may_be_applied(f"{told}, and the write may have been applied")
        return Unavailable(told, "try again, or raise --timeout")

    def close(self) -> None:
        """Finish what was accepted, then end the threads; long polls end when the engine is closed."""
        for lanes in (*self._lanes_of.values(), self._forwarded):
            lanes.close()
        self._stream_reads.close()
        self._commits.close()


_CALLS = frozenset(
    {"invoke_rpc", "start_flow", "set_attributes", "publish_messages", "show_cluster", "drain_node", "snapshot_cluster"}
)
"""What may take long: handlers of people, and what other nodes are asked."""
