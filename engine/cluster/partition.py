"""One partition on one node: the embedded engine on a file of its own, behind the partition's stream."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dex.engine.cluster.journalclock import JournalClock
from dex.engine.cluster.link import Link
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.cluster.stream import Stream
from dex.engine.cluster.writer import ReplicatedWriter
from dex.engine.directories import PARTITION_FOLDER
from dex.engine.freshness import index_behind
from dex.engine.housekeeping import Retention
from dex.engine.local import LocalEngine
from dex.wcl.commands import Command, Freshness, Written
from dex.wcl.errors import DexError, Unavailable

if TYPE_CHECKING:
    from dex.engine.flows.registry import Registry

R = TypeVar("R")

NO_QUORUM = "fewer than two of its three servers answer, or they have no leader yet"
"""Why a journal takes nothing, as far as a node can tell."""

_STALL_SECONDS = 0.5


class Partition:
    """A partition's state on this node, and the way of its mutations."""

    def __init__(
        self,
        number: int,
        settings: ClusterSettings,
        data_dir: Path,
        link: Link,
        *,
        clock: JournalClock,
        timeout: float,
        retention: Retention | None,
        registry: "Callable[[], Registry] | None",
        attribute_stores: Collection[str],
    ) -> None:
        self.number = number
        self._node = settings.node
        self.stream = stream = Stream(link, settings.name, number, settings.replicas)
        self.writer: ReplicatedWriter

        def replicate(inner: Any) -> Any:
            self.writer = ReplicatedWriter(inner, stream, link, clock, timeout)
            return self.writer

        self.engine = LocalEngine(
            data_dir / f"{PARTITION_FOLDER}{number}",
            timeout=timeout,
            retention=retention,
            clock=clock,
            registry=registry,
            attribute_stores=attribute_stores,
            replicate=replicate,
            evidence=self.evidence,
        )

    def execute(self, command: Command[R]) -> R:
        """Carry out a command here; a strict read first waits for all that is committed (spec: K-06).

        Raises:
            DexError: as `Engine.execute`.
        """
        if self.writer.fault is not None:  # each call is a part of what a get costs
            self._check()
        if getattr(command, "strict", False):
            self.catch_up(command)
        return self._told(self.engine.execute(command))  # type: ignore[no-any-return]  # as the command declares

    def execute_many(self, commands: Sequence[Command[Any]]) -> list[Any | DexError]:
        """Carry out commands in order; each succeeds or fails alone, and neighbouring mutations go out together."""
        if any(getattr(command, "strict", False) for command in commands):
            return [self._attempt(command) for command in commands]
        try:
            self._check()
        except Unavailable as error:
            return [error] * len(commands)
        return [self._told(result) for result in self.engine.execute_many(commands)]

    def _attempt(self, command: Command[Any]) -> Any | DexError:
        try:
            return self.execute(command)
        except DexError as error:
            return error

    def has_store(self, name: str) -> bool:
        """Tell whether a store of this name, dropped or not, is this partition's."""
        return self.engine.knows_store(name)

    def probe(self, seconds: float) -> None:
        """Look whether the journal can be written and is applied here.

        Raises:
            Unavailable: it cannot, or not within some seconds.
        """
        self._check()
        self.writer.barrier(seconds)

    def catch_up(self, command: Any) -> None:
        """Wait until this node has applied all that was committed before, for as long as a strict read waits.

        Raises:
            Conflict: that did not come about (`reason` index_behind).
        """
        try:
            self.writer.barrier(command.wait_ms / 1000)
        except Unavailable as error:
            how_fresh = self.evidence(self.writer.applied, self.writer.applied)
            why = self.hindrance()
            lag = f"has not caught up within {command.wait_ms} ms{why and f': {why}'}"
            raise index_behind(command.store, lag, how_fresh) from error

    def hindrance(self) -> str:
        """Tell why nothing of what waits is applied here, or taken by the journal; empty where all goes on."""
        hindered = self.writer.hindered
        if hindered is not None:
            return f"this node cannot apply what partition {self.number} has: {hindered.message}"
        if self.writer.waited < _STALL_SECONDS:
            return ""
        return f"the journal of partition {self.number} takes no writes: {self.writer.refusal or NO_QUORUM}"

    def evidence(self, applied_seq: int, committed_seq: int) -> Freshness:
        """Tell how fresh an answer of this node is, with what is known to be committed elsewhere."""
        last = self.stream.last_seq + self.writer.lead
        if last > committed_seq:  # noqa: PLR1730  # a call of max is a part of what a get costs that can be told
            committed_seq = last
        return Freshness(applied_seq, committed_seq, committed_seq - applied_seq, self._node)

    def _told(self, result: Any) -> Any:
        """Give a result; that of a mutation, which is the same on every node, with this one's evidence."""
        if isinstance(result, Written):
            found = result.freshness
            result.freshness = self.evidence(found.applied_seq, found.committed_seq)
        return result

    def _check(self) -> None:
        """Refuse to answer from a file that is not kept current any more.

        Raises:
            Unavailable: with the reason.
        """
        if self.writer.fault is not None:
            raise Unavailable(
                f"partition {self.number} of this node is not kept current: {self.writer.fault}", "see the node's log"
            )

    def close(self) -> None:
        """Close the file; the stream goes on without this node."""
        self.engine.close()
