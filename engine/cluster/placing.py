"""Which partition a command belongs to: that of its store, feed or Flow ID, so that none needs two (spec: K-03)."""

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from dex.engine.cluster.ownership import Ownership
from dex.engine.cluster.partition import Partition
from dex.engine.machine import MUTATIONS
from dex.engine.protocol import ANYWHERE
from dex.wcl.commands import ClearStateStore, Command, DefineStateStore, DropStateStore, FromFeed, RebuildStateStore

# Those on a store that may be a feed's, and so in the partition of that.
_ON_ANY = frozenset({ClearStateStore, DropStateStore, RebuildStateStore})
_HEAR_SECONDS = 2.0


def partition_of(name: str, partitions: int) -> int:
    """Give the partition of a name: of a Flow ID, a feed, or a store that has no feed."""
    return crc32(name.encode("utf-8", "surrogatepass")) % partitions


def feed_of(command: Command[object]) -> str | None:
    """Give the name of the feed that a command is on, that of a feed-sourced store included."""
    if isinstance(command, DefineStateStore):
        return command.source.feed if isinstance(command.source, FromFeed) else None
    if command.__struct_config__.tag in ("define_feed", "drop_feed", "describe_feed"):
        return str(command.name)  # type: ignore[attr-defined]  # these three have it
    return getattr(command, "feed", None)


def store_of(command: Command[object]) -> str | None:
    """Give the name of the store that a command is on."""
    if str(command.__struct_config__.tag).endswith("_state_store"):
        return str(command.name)  # type: ignore[attr-defined]  # all of these have it
    return getattr(command, "store", None)


class Placing:
    """Finds the partition of a command, on one node. `timeout` is for how many seconds that may wait to catch up."""

    def __init__(self, partitions: Sequence[Partition], ownership: Ownership, timeout: float) -> None:
        self._partitions = partitions
        self._ownership = ownership
        self._timeout = timeout
        # Where each store is: its place never changes, but that of a temporary one that is dropped and made anew.
        self.holders: dict[str, Partition] = {}

    def partition(self, command: Command[Any]) -> Partition:
        """Give the partition of a command; a store that is there already stays where it is, whatever is asked of it."""
        flow_id = getattr(command, "flow_id", None)
        if flow_id is not None:
            return self._partitions[partition_of(flow_id, len(self._partitions))]
        holder = self.holders.get(getattr(command, "store", ""))
        if holder is not None:
            return holder
        store, likely = store_of(command), self._likely(command)
        if store is None:
            return likely
        found = self._holder(store, likely)
        if found is None and self._has_to_hear(command):
            found = self._holder(store, likely)
        return found or likely

    def place(self, command: Command[Any]) -> int:
        """Tell apart what waits for the journal of a partition, for its owner, or until this node knows all names."""
        flow_id = getattr(command, "flow_id", None)
        if flow_id is not None:
            number = partition_of(flow_id, len(self._partitions))
            return 0 if self._ownership.owns(number) else number + 1
        is_strict = getattr(command, "strict", False)
        if not is_strict and type(command) not in MUTATIONS:
            return 0
        store = store_of(command)
        holder = None if store is None else self.holders.get(store) or self._holder(store, self._likely(command))
        if holder is None and (is_strict or type(command) in _ON_ANY or isinstance(command, DefineStateStore)):
            return ANYWHERE
        return (holder or self._likely(command)).number + 1

    def hear_of_all(self) -> None:
        """Wait until this node knows all names that were given before.

        Raises:
            Unavailable: it does not catch up in time.
        """
        for part in self._partitions:
            part.writer.barrier(self._timeout)

    def _likely(self, command: Command[Any]) -> Partition:
        """Give the partition of a feed, or that of a store by its name, which may be in the one of its feed."""
        return self._partitions[partition_of(feed_of(command) or store_of(command) or "", len(self._partitions))]

    def _has_to_hear(self, command: Command[Any]) -> bool:
        """Catch up for the sake of a command on a store that this node does not know, if it may be any partition's.

        Raises:
            Conflict, Unavailable: this node does not catch up in time.
        """
        if getattr(command, "strict", False):
            for part in self._partitions:
                part.catch_up(command)
            return True
        if type(command) in _ON_ANY:
            self.hear_of_all()
            return True
        # A read that is not strict waits for no more than what is known to be committed, as after a start.
        behind = [] if type(command) in MUTATIONS else [part for part in self._partitions if part.writer.is_behind]
        for part in behind:
            part.writer.hear(_HEAR_SECONDS)
        return bool(behind)

    def _holder(self, store: str, likely: Partition) -> Partition | None:
        """Give the partition that has a store of this name; a feed-sourced one lives with its feed."""
        others = [part for part in self._partitions if part is not likely]
        found = next((part for part in (likely, *others) if part.has_store(store)), None)
        if found is not None:
            self.holders[store] = found
        return found
