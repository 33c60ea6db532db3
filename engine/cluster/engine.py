"""The engine of a node: commands go to their partition, and lists are put together of all (spec: K-03, K-07)."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dex.engine import freshness
from dex.engine.clock import Clock, SystemClock
from dex.engine.cluster.link import Link
from dex.engine.cluster.merging import MERGED
from dex.engine.cluster.partition import Partition
from dex.engine.cluster.placing import feed_of, partition_of, store_of
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.cluster.stream import Stream
from dex.engine.housekeeping import Retention
from dex.wcl.commands import Command, DefineStateStore
from dex.wcl.errors import Conflict, DexError

if TYPE_CHECKING:
    from dex.engine.flows.registry import Registry

R = TypeVar("R")

_START_SECONDS = 30.0


class ClusterEngine:
    """Carries out typed commands on this node, whichever partition they belong to. Safe to share between threads."""

    def __init__(
        self,
        data_dir: Path,
        settings: ClusterSettings,
        *,
        timeout: float = 60.0,
        retention: Retention | None = None,
        clock: Clock | None = None,
        registry: "Callable[[], Registry] | None" = None,
        attribute_stores: Collection[str] = (),
    ) -> None:
        self.settings = settings
        freshness.serve_as(settings.node)
        self._link = Link(settings.servers, settings.node)
        self._threads = ThreadPoolExecutor(settings.partitions * 4, "dex-partitions")
        self.partitions = [
            Partition(
                number,
                data_dir,
                self._link,
                Stream(self._link, settings.name, number, settings.replicas),
                clock=clock or SystemClock(),
                timeout=timeout,
                retention=retention,
                registry=registry,
                attribute_stores=attribute_stores,
            )
            for number in range(settings.partitions)
        ]

    def start(self) -> None:
        """Connect to the journal and begin to apply it.

        Raises:
            Unavailable: the journal servers do not answer.
            FailedPrecondition: the journal is not the one that this node belongs to.
        """
        self._link.open()
        for part in self.partitions:
            self._link.call(part.stream.make(), _START_SECONDS)
            part.writer.start()

    def execute(self, command: Command[R]) -> R:
        """Carry out one command and give its result.

        Raises:
            DexError: of the kind that fits; Unavailable where the journal has no quorum.
        """
        merge = MERGED.get(type(command))
        if merge is not None:
            result: R = merge([part.execute for part in self.partitions], command)
            return result
        return self._partition(command).execute(command)

    def execute_many(self, commands: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Carry out commands; those of one partition in order, and those of several at once.

        Gives for each command its result, or the error it raised.
        """
        if len(commands) == 1:
            return [self._attempt(commands[0])]
        places: dict[int, list[int]] = {}
        results: list[Any | DexError] = [None] * len(commands)
        for index, command in enumerate(commands):
            try:
                number = -1 if type(command) in MERGED else self._partition(command).number
            except DexError as error:
                results[index] = error
                continue
            places.setdefault(number, []).append(index)
        if -1 in places or len(places) == 1:
            self._run(list(range(len(commands))), commands, results, None)
            return results
        work = [
            self._threads.submit(self._run, indexes, commands, results, self.partitions[number])
            for number, indexes in places.items()
        ]
        for each in work:
            each.result()
        return results

    def _run(
        self, indexes: list[int], commands: Sequence[Command[Any]], results: list[Any], part: Partition | None
    ) -> None:
        if part is None:
            for index in indexes:
                results[index] = self._attempt(commands[index])
            return
        found = part.engine.execute_many([commands[index] for index in indexes])
        for index, result in zip(indexes, found, strict=True):
            results[index] = result

    def _attempt(self, command: Command[Any]) -> Any | DexError:
        try:
            return self.execute(command)
        except DexError as error:
            return error

    def _partition(self, command: Command[Any]) -> Partition:
        """Give the partition of a command.

        Raises:
            Conflict: a store is to be defined whose name is another partition's.
        """
        flow_id = getattr(command, "flow_id", None)
        if flow_id is not None:
            return self.partitions[partition_of(flow_id, len(self.partitions))]
        feed, store = feed_of(command), store_of(command)
        if store is None:
            return self.partitions[partition_of(feed or "", len(self.partitions))]
        wanted = self.partitions[partition_of(feed or store, len(self.partitions))]
        holder = self._holder(store, wanted)
        if isinstance(command, DefineStateStore) and holder is not None and holder is not wanted:
            raise Conflict(
                f"store {store!r} exists with another source",
                "drop it, or choose another name",
                reason="source",
                name=store,
            )
        return holder or wanted

    def _holder(self, store: str, likely: Partition) -> Partition | None:
        """Give the partition that has a store of this name; a feed-sourced one lives with its feed."""
        others = [part for part in self.partitions if part is not likely]
        return next((part for part in (likely, *others) if part.has_store(store)), None)

    @property
    def writes(self) -> int:
        """How many times something was sent to be written so far, whatever became of it."""
        return sum(part.writer.writes for part in self.partitions)

    def settle(self, on_pass: Callable[[], None] | None = None) -> None:
        """Do all housekeeping of this node's files now."""
        for part in self.partitions:
            part.engine.settle(on_pass)

    def close(self) -> None:
        """Leave the cluster: release files, threads and the connection."""
        for part in self.partitions:
            part.close()
        self._threads.shutdown()
        self._link.close()
