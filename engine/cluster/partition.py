"""One partition on one node: the embedded engine on a file of its own, behind the partition's stream."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from dex.engine.clock import Clock
from dex.engine.cluster.link import Link
from dex.engine.cluster.stream import Stream
from dex.engine.cluster.writer import ReplicatedWriter
from dex.engine.housekeeping import Retention
from dex.engine.local import LocalEngine
from dex.wcl.commands import Command, Freshness
from dex.wcl.errors import Conflict, Unavailable

if TYPE_CHECKING:
    from dex.engine.flows.registry import Registry

R = TypeVar("R")


class Partition:
    """A partition's state on this node, and the way of its mutations."""

    def __init__(
        self,
        number: int,
        data_dir: Path,
        link: Link,
        stream: Stream,
        *,
        clock: Clock,
        timeout: float,
        retention: Retention | None,
        registry: "Callable[[], Registry] | None",
        attribute_stores: Collection[str],
    ) -> None:
        self.number = number
        self.stream = stream
        self.writer: ReplicatedWriter

        def replicate(inner: Any) -> Any:
            self.writer = ReplicatedWriter(inner, stream, link, clock, timeout)
            return self.writer

        self.engine = LocalEngine(
            data_dir / f"partition-{number}",
            timeout=timeout,
            retention=retention,
            clock=clock,
            registry=registry,
            attribute_stores=attribute_stores,
            replicate=replicate,
        )

    def execute(self, command: Command[R]) -> R:
        """Carry out a command here; a strict read first waits for all that is committed (spec: K-06).

        Raises:
            DexError: as `Engine.execute`.
        """
        self._check()
        if getattr(command, "strict", False):
            self._catch_up(command)
        return self._told(self.engine.execute(command))  # type: ignore[no-any-return]  # as the command declares

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

    def _catch_up(self, command: Any) -> None:
        try:
            self.writer.barrier(command.wait_ms / 1000)
        except Unavailable as error:
            how_fresh = self.freshness(Freshness(self.writer.applied, self.writer.applied, 0, ""))
            raise Conflict(
                f"store {command.store!r} has not caught up within {command.wait_ms} ms",
                "retry, wait longer, or drop strict",
                reason="index_behind",
                store=command.store,
                applied_seq=how_fresh.applied_seq,
                committed_seq=how_fresh.committed_seq,
                behind=how_fresh.behind,
            ) from error

    def freshness(self, found: Freshness) -> Freshness:
        """Give evidence of how current an answer is, with what is known to be committed elsewhere."""
        committed = max(found.committed_seq, self.stream.last_seq)
        return msgspec.structs.replace(found, committed_seq=committed, behind=committed - found.applied_seq)

    def _told(self, result: Any) -> Any:
        found = getattr(result, "freshness", result if isinstance(result, Freshness) else None)
        if found is None:
            return result
        fresh = self.freshness(found)
        return fresh if isinstance(result, Freshness) else msgspec.structs.replace(result, freshness=fresh)

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
