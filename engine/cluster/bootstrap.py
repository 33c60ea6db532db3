"""What a node does before it applies a partition's journal: its file fits the stream, or a snapshot takes its place.

A new or wiped node, and one that was away for longer than the journal is kept, begin with the newest verified
snapshot (spec: K-08). The file is exchanged as a whole folder, so that a crash leaves the one or the other, or none.
"""

import logging
import os
import shutil
from contextlib import closing
from pathlib import Path

from nats.js import api

from dex.engine.cluster.continuity import Reached, reached
from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.engine.cluster.snapshot import Manifest, SnapshotStore
from dex.engine.cluster.stream import Stream
from dex.engine.sqlite.connection import database_path, open_database
from dex.engine.sqlite.errors import translated
from dex.wcl.errors import FailedPrecondition, Unavailable

_log = logging.getLogger("dex.cluster")

_SECONDS = 30.0
_FETCH_SECONDS = 3600.0


class Bootstrap:
    """Makes the folder of a partition fit its stream."""

    def __init__(self, link: Link, stream: Stream, snapshots: SnapshotStore, cluster_id: str, folder: Path) -> None:
        self._link = link
        self._stream = stream
        self._snapshots = snapshots
        self._cluster_id = cluster_id
        self._folder = folder

    def run(self) -> None:
        """Leave a file that the stream continues.

        Raises:
            FailedPrecondition: the stream was purged or edited, or the snapshot that is needed does not verify.
            Unavailable: the journal servers do not answer.
        """
        self._clean()
        applied = reached_by(database_path(self._folder))
        newest = self._newest()
        state = self._check(applied)
        if newest is not None:
            state = self._check(newest.reached)
        is_continued = state.first_seq <= applied.seq + 1
        if is_continued and (applied.seq or newest is None):
            return
        if newest is not None and newest.reached.seq + 1 >= state.first_seq:
            self._restore(newest, state.first_seq)
        elif not is_continued:
            snapshot = "there is no snapshot" if newest is None else f"the newest snapshot is at {newest.reached.seq}"
            raise FailedPrecondition(
                f"stream {self._stream.name} begins at message {state.first_seq}, this node has applied {applied.seq},"
                f" and {snapshot}",
                "somebody purged the stream: have a node that is further take a snapshot with `dex cluster snapshot`",
            )

    def _newest(self) -> Manifest | None:
        return self._link.insist(lambda: self._snapshots.newest(self._stream.partition), _SECONDS)

    def _check(self, applied: Reached) -> api.StreamState:
        return self._link.insist(lambda: self._stream.continuity.check(applied), _SECONDS)

    def _restore(self, newest: Manifest, begin: int) -> None:
        """Put the newest snapshot that verifies in the place of the folder; the stream begins at `begin`."""
        fresh = self._beside("new")
        try:
            found = self._fetch(newest, begin, fresh)
            if self._folder.exists():
                self._folder.rename(self._beside("old"))
            fresh.rename(self._folder)
            _sync(self._folder.parent)
        finally:
            self._clean()
        _log.info("partition %d begins with the snapshot at position %d", found.partition, found.position)

    def _fetch(self, newest: Manifest, begin: int, into: Path) -> Manifest:
        """Read a snapshot into a new folder: the newest, or the one before where that does not verify.

        Another node may put the next one in its place meanwhile.

        Raises:
            FailedPrecondition: none verifies that the stream goes on from, or they are another cluster's.
        """
        while True:
            try:
                self._read(newest, into)
            except FailedPrecondition as error:
                again = self._newest()
                if again is not None and again != newest:
                    newest = again
                    continue
                return self._fetch_before(newest.before, begin, into, error)
            else:
                return newest

    def _fetch_before(self, before: Manifest | None, begin: int, into: Path, error: FailedPrecondition) -> Manifest:
        """Read the snapshot before the one that failed.

        Raises:
            FailedPrecondition: that cannot be taken either.
        """
        if before is None:
            raise error
        if before.reached.seq + 1 < begin:
            why = f"the one before, at message {before.reached.seq}, ends before the stream begins, at {begin}"
            raise FailedPrecondition(f"{error.message}; {why}", error.remedy) from error
        _log.warning("%s; trying the one before, at position %d", error.message, before.position)
        try:
            self._read(before, into)
        except FailedPrecondition as another:
            raise FailedPrecondition(f"{error.message}; {another.message}", error.remedy) from another
        return before

    def _read(self, manifest: Manifest, into: Path) -> None:
        """Read one snapshot into a new folder.

        Raises:
            FailedPrecondition: it does not verify, or is another cluster's.
        """
        if manifest.cluster_id != self._cluster_id:
            raise FailedPrecondition(
                f"the snapshot of partition {manifest.partition} is of cluster {manifest.cluster_id}",
                "these journal servers have leavings of another cluster: give this one another name",
            )
        shutil.rmtree(into, ignore_errors=True)
        try:
            into.mkdir(mode=0o700, parents=True)
            path = database_path(into)
            path.touch(0o600)
            self._link.call(self._snapshots.fetch(manifest, path), _FETCH_SECONDS)
            _sync(into)
        except LINK_ERRORS as error:
            raise Unavailable(f"the snapshot cannot be read or kept: {in_words(error)}", "try again later") from error

    def _clean(self) -> None:
        for ending in ("new", "old"):
            shutil.rmtree(self._beside(ending), ignore_errors=True)

    def _beside(self, ending: str) -> Path:
        return self._folder.with_name(f"{self._folder.name}.{ending}")


def reached_by(path: Path) -> Reached:
    """Give the last message that a file has applied, of sequence 0 where there is none."""
    if not path.exists():
        return Reached(0, None)
    with closing(open_database(path, _SECONDS)) as connection, translated(path):
        return reached(connection)


def _sync(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
