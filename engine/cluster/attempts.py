"""How often the writes of a backlog were tried: who owns a partition tries them, and the other nodes ask it."""

from typing import Any

import msgspec

from dex.engine.cluster.forwarding import Forwarding
from dex.engine.cluster.leases import Holder
from dex.engine.cluster.ownership import Ownership
from dex.engine.cluster.placing import partition_of
from dex.wcl.commands.sync import Backlog, BacklogEntry, SyncBacklog
from dex.wcl.errors import DexError

_ASK_SECONDS = 0.8


class Attempts:
    """Asks the owners of partitions, for one node."""

    def __init__(self, ownership: Ownership, forwarding: Forwarding, partitions: int) -> None:
        self._ownership = ownership
        self._forwarding = forwarding
        self._partitions = partitions

    def told(self, found: Backlog, command: SyncBacklog) -> Backlog:
        """Give what this node's files have of a backlog with the attempts that the owners tell of.

        An entry whose owner does not answer has none.
        """
        owners = [self._owner(entry) for entry in found.entries]
        answers = {holder.url: self._ask(holder, command) for holder in owners if holder is not None}
        entries = [
            entry if self._is_own(entry) else _with(entry, {} if holder is None else answers[holder.url])
            for entry, holder in zip(found.entries, owners, strict=True)
        ]
        return msgspec.structs.replace(found, entries=entries)

    def _is_own(self, entry: BacklogEntry) -> bool:
        return self._ownership.owns(partition_of(entry.flow_id, self._partitions))

    def _owner(self, entry: BacklogEntry) -> Holder | None:
        return None if self._is_own(entry) else self._ownership.owner(partition_of(entry.flow_id, self._partitions))

    def _ask(self, holder: Holder, command: SyncBacklog) -> dict[Any, BacklogEntry]:
        try:
            told = self._forwarding.send(holder, command, _ASK_SECONDS)
        except DexError:
            return {}
        return {_key(entry): entry for entry in told.entries}


def _key(entry: BacklogEntry) -> tuple[str, str, str, str]:
    return entry.store, entry.flow_id, entry.run_id, entry.key


def _with(entry: BacklogEntry, told: dict[Any, BacklogEntry]) -> BacklogEntry:
    """Give an entry with the attempts that another node tells of."""
    by_owner = told.get(_key(entry))
    if by_owner is None:
        return msgspec.structs.replace(entry, attempts=0, next_attempt=None, last_error=None)
    return msgspec.structs.replace(
        entry, attempts=by_owner.attempts, next_attempt=by_owner.next_attempt, last_error=by_owner.last_error
    )
