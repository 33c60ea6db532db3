"""What whoever runs a cluster asks any of its nodes: how all stand, and to hand over what one owns (spec: K-09)."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dex.engine.cluster.forwarding import Forwarding
from dex.engine.cluster.journalclock import JournalClock
from dex.engine.cluster.leases import Holder
from dex.engine.cluster.ownership import Ownership
from dex.engine.cluster.partition import Partition
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.cluster.snapshotting import Snapshotting
from dex.wcl.commands import Command
from dex.wcl.commands.cluster import (
    ClusterNode,
    ClusterPartition,
    ClusterStatus,
    DrainNode,
    NodeCopy,
    NodeDrained,
    NodeReport,
    PartitionCopy,
    ShowCluster,
    ShowNode,
    SnapshotCluster,
    SnapshotTaken,
)
from dex.wcl.errors import DexError, FailedPrecondition, NotFound, Unavailable

_ASK_SECONDS = 0.8
_DRAIN_SECONDS = 30.0
_SNAPSHOT_SECONDS = 100.0
_THREADS = 16


class Operating:
    """Answers for one node, which asks the others."""

    def __init__(
        self,
        settings: ClusterSettings,
        partitions: Sequence[Partition],
        ownership: Ownership,
        forwarding: Forwarding,
        snapshotting: Snapshotting,
        clock: JournalClock,
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._partitions = partitions
        self._ownership = ownership
        self._forwarding = forwarding
        self._snapshotting = snapshotting
        self._threads = ThreadPoolExecutor(_THREADS, "dex-operating")
        self._is_asking = False

    def execute(self, command: Command[Any]) -> Any:
        """Carry out one of `OPERATIONS`.

        Raises:
            DexError: of the kind that fits.
        """
        return OPERATIONS[type(command)](self, command)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def _report(self, _command: ShowNode) -> NodeReport:
        copies = [
            NodeCopy(
                partition=part.number,
                epoch=self._ownership.epoch(part.number),
                applied=part.writer.applied,
                committed=part.evidence(0, part.writer.applied).committed_seq,
                fault=None if part.writer.fault is None else str(part.writer.fault),
            )
            for part in self._partitions
        ]
        draining = self._ownership.draining or self._is_asking
        return NodeReport(node=self._settings.node, draining=draining, copies=copies, clock=self._clock.off())

    def _status(self, _command: ShowCluster) -> ClusterStatus:
        holders, journal = self._ownership.membership.members()
        reports = self._ask_all(holders)
        found = [report for report in reports.values() if report is not None]
        nodes = [
            ClusterNode(
                name=holder.node,
                url=holder.url,
                alive=(report := reports[holder.node]) is not None,
                draining=report is not None and report.draining,
                clock="" if report is None else report.clock,
            )
            for holder in holders
        ]
        return ClusterStatus(
            cluster=self._settings.name,
            answered_by=self._settings.node,
            journal=journal,
            nodes=nodes,
            partitions=[self._partition(part.number, found) for part in self._partitions],
        )

    def _ask_all(self, holders: Sequence[Holder]) -> dict[str, NodeReport | None]:
        """Ask nodes at once how they stand; gives what each says by its name."""
        return dict(zip((holder.node for holder in holders), self._threads.map(self._ask, holders), strict=True))

    def _ask(self, holder: Holder) -> NodeReport | None:
        """Ask a node how it stands; None where it does not answer."""
        if holder.node == self._settings.node:
            return self._report(ShowNode())
        try:
            return self._forwarding.send(holder, ShowNode(), _ASK_SECONDS)
        except DexError:
            return None

    def _partition(self, number: int, reports: Sequence[NodeReport]) -> ClusterPartition:
        """Put together what nodes tell of a partition; the lease tells of an owner only where that does not answer."""
        told = [(report.node, report.copies[number]) for report in reports]
        committed = max(copy.committed for _, copy in told)
        seen = self._ownership.owner(number)
        claims = [(copy.epoch, node) for node, copy in told if copy.epoch]
        if seen is not None and seen.node not in (node for node, _ in told):
            claims.append((seen.epoch, seen.node))
        epoch, owner = max(claims, default=(None, None))
        copies = [
            PartitionCopy(node=node, applied=copy.applied, behind=committed - copy.applied, fault=copy.fault)
            for node, copy in told
        ]
        snapshot = self._snapshotting.position(number)
        return ClusterPartition(
            number=number, owner=owner, epoch=epoch, committed=committed, snapshot=snapshot, copies=copies
        )

    def _drain(self, command: DrainNode) -> NodeDrained:
        """Hand over what this node owns, or have another one do so.

        Raises:
            NotFound: there is no such node.
            FailedPrecondition: no other node could own its partitions.
            Unavailable: it or the journal servers do not answer, or something is not handed over in time.
        """
        if command.node == self._settings.node:
            if not self._ownership.draining:
                self._find_heir()
            return NodeDrained(node=command.node, partitions=self._ownership.drain(_DRAIN_SECONDS))
        holders, _ = self._ownership.membership.members()
        holder = next((holder for holder in holders if holder.node == command.node), None)
        if holder is None:
            known = ", ".join(holder.node for holder in holders)
            raise NotFound(f"no node is named {command.node!r}", f"the nodes are {known}", node=command.node)
        return self._forwarding.send(holder, command, _DRAIN_SECONDS + _ASK_SECONDS)

    def _find_heir(self) -> None:
        """Look whether another node can own what this one hands over.

        Raises:
            FailedPrecondition, Unavailable: as `_drain`.
        """
        # It tells others of it first: of two nodes that are drained at one moment one at least sees the other's drain.
        self._is_asking = True
        try:
            holders, journal = self._ownership.membership.members()
            if not journal:
                raise Unavailable(
                    "the journal servers do not answer, and nothing can be handed over without them", "try again later"
                )
            others = [holder for holder in holders if holder.node != self._settings.node]
            told = self._ask_all(others)
        finally:
            self._is_asking = False
        hindrances = [f"{node} {_hindrance(report)}" for node, report in told.items()]
        if not any(_hindrance(report) is None for report in told.values()):
            raise FailedPrecondition(
                f"{self._settings.node} is the only node that can own partitions"
                f" ({', '.join(hindrances) or 'there is no other'})",
                "start another one first, or one that is draining again; to stop all, stop this one with SIGTERM",
            )

    def _snapshot(self, _command: SnapshotCluster) -> list[SnapshotTaken]:
        """Take a snapshot of each partition.

        Raises:
            Unavailable: the journal servers do not answer, or it takes too long.
        """
        return [
            SnapshotTaken(partition=taken.partition, position=taken.position, bytes=taken.bytes, node=taken.node)
            for taken in self._snapshotting.take(_SNAPSHOT_SECONDS)
        ]


def _hindrance(report: NodeReport | None) -> str | None:
    """Tell why a node can own no partition, None where it can."""
    if report is None:
        return "does not answer"
    if report.draining:
        return "is draining"
    return "does not keep all partitions current" if any(copy.fault for copy in report.copies) else None


OPERATIONS: dict[type[Command[Any]], Callable[[Operating, Any], Any]] = {
    ShowNode: Operating._report,  # noqa: SLF001  # the table of this class
    ShowCluster: Operating._status,  # noqa: SLF001  # as above
    DrainNode: Operating._drain,  # noqa: SLF001  # as above
    SnapshotCluster: Operating._snapshot,  # noqa: SLF001  # as above
}
"""Commands that are about nodes, and not about what they hold."""
