"""The replicated journal of one partition: a stream of records, appended to by any node and read by all (spec: K-03).

A message has one record or several, each of which has a position of its own in the journal of every node.
"""

import threading

import nats.js.errors
from nats.js import api

from dex.engine.cluster.continuity import OWNER, Continuity, owner_of
from dex.engine.cluster.link import Link
from dex.wcl.errors import FailedPrecondition

_DUPLICATE_SECONDS = 120.0
_LIMITS = ("max_age", "max_bytes", "max_msgs", "max_msgs_per_subject", "max_msg_size")
_MATTERS = ("subjects", "num_replicas", "storage", "retention", "discard", "duplicate_window", *_LIMITS)


class Stream:
    """One partition's stream, of which is asked by `link`.

    `last_seq` is the last message known to be committed, which may lag behind, and `leader` the name of the server that
    takes its messages as far as is known; empty where that is not.
    """

    def __init__(self, link: Link, cluster: str, partition: int, replicas: int) -> None:
        self.link = link
        self._replicas = replicas
        self.name = f"{cluster}-journal-{partition}"
        self.subject = f"{cluster}.journal.{partition}"
        self.partition = partition
        self.last_seq = 0
        self.leader = ""
        self.continuity = Continuity(link, self.name)
        self._lock = threading.Lock()

    async def owner(self) -> str | None:
        """Give the id of the cluster that the stream was made for, None where it is not there."""
        try:
            return owner_of(await self.link.js.stream_info(self.name))
        except nats.js.errors.NotFoundError:
            return None

    async def join(self, cluster_id: str, *, is_made: bool) -> None:
        """Find the stream of a cluster; where the streams of that are not made yet, make it.

        Raises:
            FailedPrecondition: it is gone, another cluster's, or configured otherwise.
            TimeoutError: as `Continuity.find`.
        """
        wanted = self._config(cluster_id)
        if not is_made:
            await self.link.make_stream(wanted)
        self.continuity.cluster_id = cluster_id
        info = await self.continuity.find()
        for field in _MATTERS:
            found, expected = getattr(info.config, field), getattr(wanted, field)
            if found != expected:
                raise FailedPrecondition(
                    f"stream {self.name} of the journal has {field} {found}, and {expected} is needed",
                    "somebody edited it: set that back with the nats tool, or use other journal servers",
                )
        self._told(info)

    def _config(self, cluster_id: str) -> api.StreamConfig:
        return api.StreamConfig(
            name=self.name,
            subjects=[self.subject],
            num_replicas=self._replicas,
            storage=api.StorageType.FILE,
            retention=api.RetentionPolicy.LIMITS,
            max_age=0,
            max_bytes=-1,
            max_msgs=-1,
            max_msgs_per_subject=-1,
            max_msg_size=-1,
            discard=api.DiscardPolicy.NEW,
            duplicate_window=_DUPLICATE_SECONDS,
            deny_delete=True,
            metadata={OWNER: cluster_id},
        )

    def committed(self, seq: int) -> None:
        """Take note of a message that is committed; from any thread."""
        with self._lock:
            self.last_seq = max(self.last_seq, seq)

    async def look(self, by: Link | None = None) -> int:
        """Ask for the last message; the answer may be out of date, so it is for information only."""
        info = await (by or self.link).js.stream_info(self.name)
        self._told(info)
        return info.state.last_seq

    def _told(self, info: api.StreamInfo) -> None:
        self.committed(info.state.last_seq)
        self.leader = (info.cluster and info.cluster.leader) or ""

    async def begins_at(self) -> int:
        """Give the first message that is still there, or the next one where none is."""
        return (await self.link.js.stream_info(self.name)).state.first_seq

    async def purge(self, until: int) -> None:
        """Delete what is up to a message, which a verified snapshot has."""
        if until > 0:
            await self.link.js.purge_stream(self.name, seq=until + 1)
