"""Commands for whoever runs a cluster, and their results (spec: K-09)."""

from typing import TypeAlias

import msgspec

from dex.wcl.commands.base import Command
from dex.wcl.errors import InvalidCommand


class NodeCopy(msgspec.Struct, kw_only=True):
    """A partition on one node: the last position it has applied, and the last that it knows to be committed.

    `epoch` is the one in which the node owns the partition, 0 where it does not. `fault` tells why the copy is not
    kept current any more.
    """

    partition: int
    epoch: int
    applied: int
    committed: int
    fault: str | None


class NodeReport(msgspec.Struct, kw_only=True):
    """What a node tells of itself. One that drains hands its partitions over and takes none.

    `clock` tells how far its clock is off that of the journal servers, empty where it is right.
    """

    node: str
    draining: bool
    copies: list[NodeCopy]
    clock: str = ""


class ClusterNode(msgspec.Struct, kw_only=True):
    """A node of a cluster and where it is reached; `alive` tells whether it answered within a second.

    `clock` tells how far its clock is off that of the journal servers, empty where it is right.
    """

    name: str
    url: str
    alive: bool
    draining: bool
    clock: str = ""


class PartitionCopy(msgspec.Struct, kw_only=True):
    """A partition on a node that answered: what it has applied, and how many committed positions it lacks."""

    node: str
    applied: int
    behind: int
    fault: str | None


class ClusterPartition(msgspec.Struct, kw_only=True):
    """A partition: its owner and since which epoch, the last position known to be committed, and its copies.

    `owner` and `epoch` are null where nobody owns it. `snapshot` is the position of the last snapshot, null where there
    is none.
    """

    number: int
    owner: str | None
    epoch: int | None
    committed: int
    snapshot: int | None
    copies: list[PartitionCopy]


class ClusterStatus(msgspec.Struct, kw_only=True):
    """How a cluster is, as the node `answered_by` sees it; `journal` tells whether the journal servers answer it.

    `nodes` are those that run, and those that vanished within the last day without being stopped.
    """

    cluster: str
    answered_by: str
    journal: bool
    nodes: list[ClusterNode]
    partitions: list[ClusterPartition]


class ShowNode(Command[NodeReport], frozen=True):
    """Tell how the node that is asked stands."""


class ShowCluster(Command[ClusterStatus], frozen=True):
    """Tell how all nodes and partitions stand; any node answers."""


class NodeDrained(msgspec.Struct, kw_only=True):
    """The partitions that a node has handed over; empty where it owned none."""

    node: str
    partitions: list[int]


class DrainNode(Command[NodeDrained], frozen=True):
    """Have a node hand its partitions over, and take none any more until it is started again; any node takes this."""

    node: str

    def __post_init__(self) -> None:
        if not self.node:
            raise InvalidCommand("a node has a name", "`dex cluster status` shows the nodes")


class SnapshotTaken(msgspec.Struct, kw_only=True):
    """The newest snapshot of a partition: at which position, its size, and the node that took it."""

    partition: int
    position: int
    bytes: int
    node: str


class SnapshotCluster(Command[list[SnapshotTaken]], frozen=True):
    """Keep a verified copy of each partition with the journal servers, and purge the journal below it (spec: K-08)."""


AnyClusterCommand: TypeAlias = ShowNode | ShowCluster | DrainNode | SnapshotCluster
