"""When snapshots are taken, by which node, and how much of the journal goes then (spec: K-08).

Any node takes one of a partition once enough was committed since the last, or that is lost: the one that gets the
partition's lease for it. The journal is purged below a snapshot that counts alone, and not where nodes may still be
reading.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import msgspec

from dex.engine.cluster.leases import Holder, Lease, Leases
from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.engine.cluster.outages import Outage
from dex.engine.cluster.partition import Partition
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.cluster.snapshot import Copy, Manifest, SnapshotStore, copy_file, last_before, new_name
from dex.wcl.errors import DexError, Unavailable

R = TypeVar("R")

_log = logging.getLogger("dex.cluster")
_LOOK_SECONDS = 5.0
_RETRY_SECONDS = 0.2


class Snapshotting:
    """Takes the snapshots of a node's partitions."""

    def __init__(
        self,
        link: Link,
        store: SnapshotStore,
        leases: Leases,
        settings: ClusterSettings,
        cluster_id: str,
        partitions: Sequence[Partition],
    ) -> None:
        self._link = link
        self._store = store
        self._leases = leases
        self._settings = settings
        self._cluster_id = cluster_id
        self._partitions = partitions
        self._holder = Holder(node=settings.node, url="", process=uuid4().hex)
        self._threads = ThreadPoolExecutor(1, "dex-snapshots")
        self._newest: dict[int, Manifest] = {}
        self._tasks: list[Future[None]] = []

    def start(self) -> None:
        """Take snapshots by itself from now on."""
        self._tasks = [self._link.submit(self._watch(part)) for part in self._partitions]

    def take(self, seconds: float) -> list[Manifest]:
        """Take a snapshot of each partition now, or wait for the node that does; gives the newest of each.

        Raises:
            Unavailable: the journal servers do not answer, or it takes too long.
        """
        deadline = time.monotonic() + seconds
        taken = [self._link.submit(self._take(part, deadline)) for part in self._partitions]
        try:
            return [future.result(max(0.0, deadline - time.monotonic())) for future in taken]
        except LINK_ERRORS as error:
            raise Unavailable(f"the journal servers took no snapshot: {in_words(error)}", "try again later") from error
        finally:
            for future in taken:
                future.cancel()

    def position(self, partition: int) -> int | None:
        """Give the position of the newest snapshot of a partition, as this node last saw it."""
        newest = self._newest.get(partition)
        return None if newest is None else newest.position

    def close(self) -> None:
        """Take none any more."""
        for task in self._tasks:
            task.cancel()
        self._threads.shutdown()

    async def _watch(self, part: Partition) -> None:
        # The journal servers may be choosing a leader: at a fresh start they are.
        outage = Outage(f"no snapshot of partition {part.number}", _LOOK_SECONDS * 2)
        while True:
            try:
                await self._look(part)
            except (DexError, *LINK_ERRORS) as error:
                outage.goes_on(str(error) if isinstance(error, DexError) else in_words(error))
            else:
                outage.is_over()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look(self, part: Partition) -> None:
        """Take a snapshot where it is time, unless another node does."""
        newest = await self._store.newest(part.number)
        if newest is not None:
            self._newest[part.number] = newest
        since = part.writer.applied - (newest.position if newest is not None else 0)
        # No node could begin without a snapshot of what was purged, should its manifest be lost with the settings.
        is_missed = newest is None and await part.stream.begins_at() > 1
        if since < self._settings.snapshot_positions and not is_missed:
            return
        async with self._lease(part) as lease:
            if lease is not None:
                await self._take_as_holder(part)

    async def _take(self, part: Partition, deadline: float) -> Manifest:
        """Take a snapshot as soon as no other node does."""
        while time.monotonic() < deadline:
            async with self._lease(part) as lease:
                if lease is not None:
                    return await self._take_as_holder(part)
            await asyncio.sleep(_RETRY_SECONDS)
        raise TimeoutError

    def _lease(self, part: Partition) -> AbstractAsyncContextManager[Lease | None]:
        """Hold the lease of a partition's snapshots meanwhile, or give None where another node does."""
        return self._leases.held(f"snapshot.{part.number}", self._holder)

    async def _take_as_holder(self, part: Partition) -> Manifest:
        newest = await self._store.newest(part.number)
        folder = part.engine.path.parent
        path = folder.with_name(f"{folder.name}.snapshot")
        try:
            copy = await self._in_thread(copy_file, part.engine.path, path)
            if newest is None or copy.position > newest.position:
                newest = await self._store.put(self._manifest(part.number, copy, newest), path)
                _log.info("a snapshot of partition %d at position %d counts", part.number, newest.position)
            elif (problem := await self._store.problem(newest)) is not None:
                newest = await self._replace(newest, copy, path, problem)
        finally:
            path.unlink(missing_ok=True)
        self._newest[part.number] = newest
        until = await self._in_thread(last_before, part.engine.path, self._settings.kept_positions)
        await part.stream.purge(min(newest.reached.seq, until))
        return newest

    async def _in_thread(self, work: Callable[..., R], *arguments: Any) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def _replace(self, newest: Manifest, copy: Copy, path: Path, problem: str) -> Manifest:
        """Keep a copy instead of the newest snapshot, which does not verify.

        Raises:
            Unavailable: this node has not come as far.
        """
        told = f"the snapshot of partition {newest.partition} at position {newest.position} does not verify: {problem}"
        if copy.position < newest.position:
            raise Unavailable(
                f"{told}; this node has applied position {copy.position}", "try again when it has caught up"
            )
        fresh = self._manifest(newest.partition, copy, newest)
        fresh = msgspec.structs.replace(fresh, before=newest.before)
        counts = await self._store.put(fresh, path, instead_of=newest)
        _log.warning("%s; it was taken again", told)
        return counts

    def _manifest(self, partition: int, copy: Copy, newest: Manifest | None) -> Manifest:
        return Manifest(
            partition=partition,
            name=new_name(partition),
            cluster_id=self._cluster_id,
            node=self._settings.node,
            before=None if newest is None else msgspec.structs.replace(newest, before=None),
            **copy._asdict(),
        )
