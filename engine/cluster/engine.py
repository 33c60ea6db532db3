"""The engine of a node: commands go to their partition, and lists are put together of all (spec: K-03, K-07)."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from dex.engine.clock import Clock, SystemClock
from dex.engine.cluster import birth, identity, monitors
from dex.engine.cluster.attempts import Attempts
from dex.engine.cluster.bootstrap import Bootstrap
from dex.engine.cluster.forwarding import Forwarding
from dex.engine.cluster.journalclock import JournalClock
from dex.engine.cluster.keeping import Keeping
from dex.engine.cluster.leases import Leases
from dex.engine.cluster.link import Link
from dex.engine.cluster.membership import Membership
from dex.engine.cluster.merging import MERGED
from dex.engine.cluster.naming import Naming
from dex.engine.cluster.operating import OPERATIONS, Operating
from dex.engine.cluster.ownership import Ownership
from dex.engine.cluster.partition import Partition
from dex.engine.cluster.placing import Placing
from dex.engine.cluster.routing import UNHEARD, Routing
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.cluster.shared import Shared
from dex.engine.cluster.snapshot import Manifest, SnapshotStore
from dex.engine.cluster.snapshotting import Snapshotting
from dex.engine.cluster.suggesting import with_names_of_all
from dex.engine.cluster.synclease import PartitionLease
from dex.engine.directories import refuse_embedded
from dex.engine.failures import Failure
from dex.engine.housekeeping import Retention
from dex.engine.owner import not_owner
from dex.engine.vitals import Vitals
from dex.wcl.commands import Command, DefineStateStore
from dex.wcl.commands.sync import SyncBacklog
from dex.wcl.errors import DexError, Refused, Unavailable

if TYPE_CHECKING:
    from dex.engine.cluster.syncing import NodeSync
    from dex.engine.flows.registry import Registry
    from dex.engine.sync.config import SyncConfig

R = TypeVar("R")

_START_SECONDS = 30.0
_SNAPSHOT_SECONDS = 3600.0
_WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104  # refused
# Commands of no one partition, and those that may not know theirs yet.
_ALONE = frozenset({*MERGED, *OPERATIONS, DefineStateStore})


class ClusterEngine:
    """Carries out typed commands on this node, whichever partition they belong to. Safe to share between threads.

    Raises:
        Refused: the directory has the data of an embedded engine.
    """

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
        sync_config: "Callable[[], SyncConfig] | None" = None,
    ) -> None:
        refuse_embedded(data_dir)
        self.settings = settings
        self.data_dir = data_dir
        self._timeout = timeout
        self.secret = ""
        self._is_closed = False
        self._sync_config = sync_config
        self.sync: NodeSync | None = None
        self._keeping: Keeping
        self._forwarding = Forwarding()
        self._naming: Naming
        self._placing: Placing
        self._routing: Routing
        self._operating: Operating
        self._attempts: Attempts
        self._snapshotting: Snapshotting
        self._files = ExitStack()
        self.ownership: Ownership
        self._link = Link(settings.servers, settings.node)
        self._threads = ThreadPoolExecutor(settings.partitions * 4, "dex-partitions")
        self._clock = JournalClock(clock or SystemClock())
        self.partitions = [
            Partition(
                number,
                settings,
                data_dir,
                self._link,
                clock=self._clock,
                timeout=timeout,
                retention=retention,
                registry=registry,
                attribute_stores=attribute_stores,
            )
            for number in range(settings.partitions)
        ]
        self._sync_watch = monitors.SyncWatch(settings.servers)

    def serve_at(self, url: str) -> None:
        """Connect to the journal, begin to apply it, and own what nobody does; other nodes reach this one at `url`.

        Raises:
            Refused: other nodes cannot reach that address.
            Unavailable: the journal servers do not answer.
            FailedPrecondition: the journal is not the one that this node belongs to.
        """
        _refuse_wildcard(url)
        if self._sync_config is not None:
            from dex.engine.cluster.syncing import NodeSync

            self.sync = NodeSync(self._sync_config)
        self._files.enter_context(identity.lock(self.data_dir))
        self._link.open()
        monitors.check_sync(self.settings.servers)
        self._sync_watch.start()
        name, replicas = self.settings.name, self.settings.replicas
        shared = Shared(self._link, name, replicas)
        leases = Leases(self._link, name, replicas, self.settings.lease_seconds)
        snapshots = SnapshotStore(self._link, shared, name, replicas)
        streams = [part.stream for part in self.partitions]
        found = birth.join(self._link, shared, streams, self.settings, self.data_dir)
        cluster_id = found.cluster_id
        for make in (leases.make, snapshots.make):
            self._link.insist(make, _START_SECONDS)
        for part in self.partitions:
            Bootstrap(self._link, part.stream, snapshots, cluster_id, part.engine.path.parent).run()
            part.writer.start()
        self._keeping = Keeping(self._link, shared, streams, found, self._take_secret)
        self._keeping.start()
        self._naming = Naming(self._link, leases, self.settings.node)
        membership = Membership(self._link, leases, self.settings.node, url)
        self.ownership = Ownership(self._link, leases, membership, self.partitions)
        self._placing = Placing(self.partitions, self.ownership, self._timeout)
        self._routing = Routing(self.settings, self.ownership, self._forwarding, self._timeout)
        self._attempts = Attempts(self.ownership, self._forwarding, len(self.partitions))
        self.ownership.on_change = self._work_or_leave
        self.ownership.start()
        self._snapshotting = Snapshotting(self._link, snapshots, leases, self.settings, cluster_id, self.partitions)
        self._snapshotting.start()
        self._operating = Operating(
            self.settings, self.partitions, self.ownership, self._forwarding, self._snapshotting, self._clock
        )

    def _take_secret(self, secret: str) -> None:
        self.secret = self._forwarding.secret = secret

    def snapshot(self) -> list[Manifest]:
        """Take a snapshot of each partition now; gives the newest of each (spec: K-08).

        Raises:
            Unavailable: the journal servers do not answer, or it takes too long.
        """
        return self._snapshotting.take(_SNAPSHOT_SECONDS)

    def execute(self, command: Command[R]) -> R:
        """Carry out one command and give its result.

        Raises:
            DexError: of the kind that fits; Unavailable where the journal has no quorum.
        """
        # A merged command's store is one of those that Attributes are synced to.
        holder = None if type(command) in MERGED else self._placing.holders.get(getattr(command, "store", ""))
        try:
            # First what is asked for most, and fastest to answer.
            return self._anywhere(command) if holder is None else holder.execute(command)
        except Refused as error:
            if error.facts.get("reason") == "unknown_store" and self._placing.holders.pop(error.facts["name"], None):
                return self.execute(command)
            raise self._suggesting(error) from error

    def _anywhere(self, command: Command[R]) -> R:
        """Carry out a command that is not on a store whose place is known."""
        merge = MERGED.get(type(command))
        if merge is not None:
            result: Any = merge([part.execute for part in self.partitions], command)
            if isinstance(command, SyncBacklog):
                result = self._attempts.told(result, command)
            return result  # type: ignore[no-any-return]  # as the command declares
        if type(command) in OPERATIONS:
            return self._operating.execute(command)  # type: ignore[no-any-return]  # as the command declares
        part = self._placing.partition(command)
        if hasattr(command, "flow_id"):
            return self._routing.execute(part, command)
        if isinstance(command, DefineStateStore) and command.name not in self._placing.holders:
            return self._define(command)  # type: ignore[no-any-return]  # as the command declares
        return part.execute(command)

    def execute_here(self, command: Command[R]) -> R:
        """Carry out a command that another node has forwarded to this one, as an owner of partitions.

        Raises:
            Unavailable: this node is not the owner (`reason` not_owner).
            DexError: as `execute`.
        """
        if type(command) in OPERATIONS:
            return self._operating.execute(command)  # type: ignore[no-any-return]  # as the command declares
        if isinstance(command, SyncBacklog):
            return MERGED[SyncBacklog]([part.execute for part in self.partitions], command)  # type: ignore[no-any-return]  # as above
        part = self._placing.partition(command)
        if not self.ownership.owns(part.number):
            raise not_owner()
        return part.execute(command)

    def _define(self, command: DefineStateStore) -> Any:
        """Define a store of a name that may be new, once this node knows all names there are."""
        with self._naming.alone(command.name, self._timeout) as check:
            self._placing.hear_of_all()
            part = self._placing.partition(command)
            check()
            return part.execute(command)

    def hindrance(self) -> str:
        """Tell that the journal takes nothing of this node, or what is in the way in one partition."""
        if self.ownership.membership.unheard > self.settings.lease_seconds / 2:
            return UNHEARD
        longest_first = sorted(self.partitions, key=lambda part: -part.writer.waited)
        return next(filter(None, (part.hindrance() for part in longest_first)), "")

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
                number = -1 if type(command) in _ALONE else self._placing.partition(command).number
            except DexError as error:
                results[index] = error
                continue
            places.setdefault(number, []).append(index)
        if -1 in places:
            self._run(list(range(len(commands))), commands, results, None)
            return results
        if len(places) == 1:
            ((number, indexes),) = places.items()
            self._run(indexes, commands, results, self.partitions[number])
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
        if any(hasattr(commands[index], "flow_id") for index in indexes):
            self._run(indexes, commands, results, None)
            return
        found = part.execute_many([commands[index] for index in indexes])
        for index, result in zip(indexes, found, strict=True):
            results[index] = self._suggesting(result) if isinstance(result, Refused) else result

    def _suggesting(self, error: Refused) -> Refused:
        self._placing.holders.pop(error.facts.get("name", ""), None)
        return with_names_of_all(error, [part.execute for part in self.partitions])

    def _attempt(self, command: Command[Any]) -> Any | DexError:
        try:
            return self.execute(command)
        except DexError as error:
            return error

    def place(self, command: Command[Any]) -> int:
        """Tell apart what waits for the journal of a partition, for its owner, or until this node knows all names."""
        return self._placing.place(command)

    def _work_or_leave(self, part: Partition, owns: bool) -> None:  # told by Ownership alone
        """Work the Flows of a partition, and sync their Attributes, while this node owns it."""
        if not owns:
            if self.sync is not None:
                self.sync.end(part.number)
            part.engine.leave_flows()
            return
        part.engine.flows.worker.start()
        if self.sync is not None:
            lease = PartitionLease(self.ownership.lease(part.number), self.settings.name, part.number)
            self.sync.begin(part.number, part.engine.flows.parts, lease)

    def probe(self, seconds: float) -> None:
        """Look whether every partition's journal can be written and is applied here.

        Raises:
            Unavailable: one cannot, or not within some seconds.
        """
        for part in self.partitions:
            try:
                part.probe(seconds)
            except Unavailable as error:
                # Of what hinders this node itself the error tells already.
                why = "" if part.writer.hindered is not None else self.hindrance()
                if why:
                    raise Unavailable(f"{error.message}: {why}", error.remedy) from error
                raise

    def vitals(self) -> Vitals:
        """Measure the files of all partitions."""
        found = [part.engine.vitals() for part in self.partitions]
        return Vitals(*(sum(values) for values in zip(*found, strict=True)))

    def failures(self) -> list[Failure]:
        """Give the latest failures of handlers that nobody called."""
        return [failure for part in self.partitions for failure in part.engine.failures()]

    @property
    def writes(self) -> int:
        """How many times something was sent to be written so far, whatever became of it."""
        return sum(part.writer.writes for part in self.partitions)

    def settle(self, on_pass: Callable[[], None] | None = None) -> None:
        """Do all housekeeping of this node's files now."""
        for part in self.partitions:
            part.engine.settle(on_pass)

    def hand_over(self) -> None:
        """Hand what only one node does over to the others, and answer as before.

        Raises:
            Unavailable: that took too long.
        """
        self.ownership.drain(self._timeout)

    def close(self) -> None:
        """Leave the cluster: release files, threads and the connection. Once is enough."""
        if self._is_closed:
            return
        self._is_closed = True
        self._sync_watch.close()
        if hasattr(self, "ownership"):
            self.ownership.close()
        if hasattr(self, "_keeping"):
            self._keeping.close()
        self._forwarding.close()
        if hasattr(self, "_snapshotting"):
            self._snapshotting.close()
        if hasattr(self, "_operating"):
            self._operating.close()
        for part in self.partitions:
            part.close()
        self._threads.shutdown()
        try:
            self._link.close()
        finally:
            self._files.close()


def _refuse_wildcard(url: str) -> None:
    """Refuse an address that stands for all of a machine's own.

    Raises:
        Refused: it is one.
    """
    host = urlsplit(url).hostname or ""
    if host in _WILDCARDS:
        raise Refused(f"other nodes cannot reach this one at {host}", "give --host the address that they reach it at")
