"""The embedded engine: one SQLite file, used by one process or many."""

import os
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dex.engine import describing, feeds, vitals
from dex.engine.clock import Clock, SystemClock
from dex.engine.directories import refuse_nodes
from dex.engine.freshness import Evidence, embedded, index_behind
from dex.engine.home import Home
from dex.engine.housekeeping import Housekeeping, Retention
from dex.engine.machine import MUTATIONS
from dex.engine.reader import Readers, Snapshot
from dex.engine.sqlite.connection import database_path
from dex.engine.stores import reads
from dex.engine.writer import Writer
from dex.wcl.commands import (
    Command,
    DescribeFeed,
    DescribeStateStore,
    FeedPage,
    GetBy,
    GetRow,
    PageRecords,
    PageRows,
    ShowFeeds,
    ShowFreshness,
    ShowStateStores,
)
from dex.wcl.errors import DexError

if TYPE_CHECKING:
    from dex.engine.failures import Failure
    from dex.engine.flows.registry import Registry
    from dex.engine.flows.service import Flows

R = TypeVar("R")

DEFAULT_TIMEOUT = 60.0
_GRACE_SECONDS = 0.05
_POLL_SECONDS = 0.02
_SETTLE_PASS_SECONDS = 0.05
# What carries out the commands of a module: told by names, so that nothing is imported before it is needed.
_ELSEWHERE = {
    "dex.wcl.commands.sync": "dex.engine.sync.inspecting",
    "dex.wcl.commands.overview": "dex.engine.overview",
    "dex.wcl.commands.cluster": "dex.engine.alone",
}


class LocalEngine:
    """Carries out typed commands on the file in a data directory.

    `timeout` is how many seconds a command waits while other processes hold the file. `registry` gives the Flow types,
    when the first Flow command asks for them; `attribute_stores` names the stores that runs may be synced to.
    `replicate` puts a replicated journal before the file's writer, for a node of a cluster. Closing gives housekeeping
    a moment, so that a sequence of short processes also gets it done.

    Raises:
        Refused: the directory is a node's; at the first command, where it or the file cannot be used.
    """

    def __init__(
        self,
        data_dir: str | os.PathLike[str],
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retention: Retention | None = None,
        clock: Clock | None = None,
        registry: "Callable[[], Registry] | None" = None,
        attribute_stores: Collection[str] = (),
        replicate: "Callable[[Writer], Writer] | None" = None,
        evidence: Evidence = embedded,
    ) -> None:
        self.path: Path = database_path(data_dir)
        if replicate is None:
            refuse_nodes(self.path.parent)
        self._home = Home()
        self._registry = registry
        self._attribute_stores = attribute_stores
        self._clock = clock or SystemClock()
        self._housekeeping = Housekeeping(self._clock, retention or Retention())
        self._readers = Readers(self.path, timeout, evidence)
        writer = Writer(self.path, self._clock, timeout, self._wake, self._readers.turn, durable=replicate is None)
        self._writer = writer if replicate is None else replicate(writer)

    def execute(self, command: Command[R]) -> R:
        """Carry out one command and give its result.

        Raises:
            DexError: of the kind that fits; a mutation that raises has changed nothing.
        """
        self._home.check()
        if type(command) in MUTATIONS:
            (result,) = self._writer.write((command,))
            if isinstance(result, DexError):
                raise result
            return result  # type: ignore[no-any-return]  # R by the command's own declaration
        return self._read(command)  # type: ignore[no-any-return]  # as above

    def _read(self, command: Any) -> Any:
        match command:
            case GetRow():
                return self._look_up(command, reads.BY_KEY)
            case GetBy():
                return self._look_up(command, reads.BY_VALUE)
            case PageRecords():
                return self._page_records(command)
        read = _IN_SNAPSHOT.get(type(command))
        if read is not None:
            with self._readers.snapshot() as snapshot:
                return read(snapshot, command)
        elsewhere = _ELSEWHERE.get(type(command).__module__)
        if elsewhere is not None:
            handlers = import_module(elsewhere).HANDLERS
            with self._readers.snapshot() as snapshot:
                return handlers[type(command)](snapshot, command, self._clock.now_ms())
        return self.flows.execute(command)

    @cached_property
    def flows(self) -> "Flows":
        """The Flows of this data directory; what only stores need starts faster without them."""
        from dex.engine.flows.registry import Registry
        from dex.engine.flows.service import Flows

        registry = Registry() if self._registry is None else self._registry()
        stores = self._attribute_stores
        return Flows(self._readers, self._writer, registry, self._clock, self.path.parent, stores)

    def leave_flows(self) -> None:
        """End the work on Flows; the next command on one begins it anew."""
        flows = self.__dict__.pop("flows", None)
        if flows is not None:
            flows.close()

    @property
    def writes(self) -> int:
        """How many times something was sent to be written so far, whatever became of it."""
        return self._writer.writes

    def execute_many(self, commands: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Carry out commands in order; each succeeds or fails alone, and neighbouring mutations share a commit."""
        results: list[Any | DexError] = []
        position = 0
        while position < len(commands):
            end = position
            while end < len(commands) and type(commands[end]) in MUTATIONS:
                end += 1
            if end > position:
                results.extend(self._write_many(commands[position:end]))
                position = end
            else:
                results.append(self._attempt(commands[position]))
                position += 1
        return results

    def _write_many(self, mutations: Sequence[Command[Any]]) -> list[Any | DexError]:
        try:
            return self._writer.write(mutations)
        except DexError as error:
            return [error] * len(mutations)

    def knows_store(self, name: str) -> bool:
        """Tell whether there is, or was, a store of this name."""
        with self._readers.snapshot() as snapshot:
            return name in snapshot.catalog.stores

    def settle(self, on_pass: Callable[[], None] | None = None) -> None:
        """Do all housekeeping now; `on_pass` is called between passes, so that a caller can show progress or stop."""
        work = self._housekeeping.one_pass(_SETTLE_PASS_SECONDS)
        while self._writer.run(work):
            if on_pass is not None:
                on_pass()

    def probe(self, seconds: float) -> None:
        """Commit something that changes nothing, waiting for other processes up to some seconds.

        Raises:
            DexError: it cannot be written, or a newer dex has migrated it.
        """
        self._writer.run(vitals.write_nothing, seconds)

    def place(self, _command: Command[Any]) -> int:
        """Give the one there is."""
        return 0

    def hindrance(self) -> str:
        """Tell of nothing: what holds up a file of this machine, the command itself is told."""
        return ""

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return self.path.parent

    secret = ""
    """An embedded engine has no other nodes."""

    sync = None
    """It leaves sync to who opened it."""

    def serve_at(self, _url: str) -> None:
        """Work the Steps of the Flow types that are known, from now on: others will use this engine by a server."""
        self.flows.worker.start()

    def hand_over(self) -> None:
        """Do nothing: there are no other nodes."""

    def failures(self) -> "list[Failure]":
        """Give the latest failures of handlers that nobody called."""
        return self.flows.failures.latest()

    def vitals(self) -> vitals.Vitals:
        """Measure the data directory."""
        with self._readers.snapshot() as snapshot:
            journal = vitals.journal_bytes(snapshot)
        return vitals.Vitals(self._writer.commits, vitals.database_bytes(self.path), journal)

    def close(self) -> None:
        """End the housekeeping and close the file; a closed engine raises Unavailable.

        In a fork nothing is closed: the file is the other process's.
        """
        if not self._home.is_here:
            return
        if "flows" in self.__dict__:
            self.flows.close()
        self._housekeeping.stop(_GRACE_SECONDS)
        self._readers.close()
        self._writer.close()

    def _wake(self) -> None:
        self._housekeeping.wake(self._writer)

    def _attempt(self, command: Command[Any]) -> Any | DexError:
        try:
            return self.execute(command)
        except DexError as error:
            return error

    def _page_records(self, command: PageRecords) -> FeedPage:
        """Read records after a position; an empty page may wait for one (spec: F-01)."""
        deadline = self._clock.monotonic() + command.wait_ms / 1000
        while True:
            with self._readers.snapshot() as snapshot:
                found = feeds.page(snapshot, command)
            remaining = deadline - self._clock.monotonic()
            if found.records or remaining <= 0:
                return found
            self._housekeeping.pause(min(_POLL_SECONDS, remaining))

    def _look_up(self, command: GetRow | GetBy, kind: reads.LookUp) -> Any:
        """Read at once, or strictly: once the store has all that is committed, helping it along meanwhile (spec: S-11).

        Raises:
            Conflict: a strict read's wait ended first (`reason` index_behind).
        """
        if not command.strict:
            return reads.look_up(self._readers, command, kind)
        deadline = self._clock.monotonic() + command.wait_ms / 1000
        while True:
            with self._readers.snapshot() as snapshot:
                reached, last = reads.reached(snapshot, snapshot.catalog.store(command.store)), snapshot.seq
                if reached == last:
                    return reads.look_up_in(snapshot, command, kind)
            if self._clock.monotonic() >= deadline:
                lag = f"is {last - reached} positions behind after {command.wait_ms} ms"
                raise index_behind(command.store, lag, self._readers.evidence(reached, last))
            self._writer.run(self._housekeeping.one_pass())


_IN_SNAPSHOT: dict[type[Command[Any]], Callable[[Snapshot, Any], Any]] = {
    PageRows: reads.page,
    ShowFreshness: describing.show_freshness,
    ShowStateStores: describing.show_state_stores,
    DescribeStateStore: describing.describe_state_store,
    ShowFeeds: describing.show_feeds,
    DescribeFeed: describing.describe_feed,
}
