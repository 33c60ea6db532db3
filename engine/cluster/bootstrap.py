"""What a node does before it applies a partition's journal: its file fits the stream, or a snapshot takes its place.

A new or wiped node, and one that was away for longer than the journal is kept, begin with the newest verified
snapshot (spec: K-08). The file is exchanged as a whole folder, so that a crash leaves the one or the other, or none.
"""

import logging
import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from nats.js import api

from dex.engine.cluster.applying import NOTHING
from dex.engine.cluster.link import LINK_ERRORS, Link, in_words
from dex.engine.cluster.snapshot import Manifest, SnapshotStore
from dex.engine.cluster.stream import Stream, decode_message
from dex.engine.sqlite.connection import database_path
from dex.engine.sqlite.errors import translated
from dex.wcl.errors import FailedPrecondition, Unavailable

_log = logging.getLogger("dex.cluster")

_SECONDS = 30.0
_FETCH_SECONDS = 3600.0
# A server that was cut off may tell of an earlier end for as long as it takes it to notice.
_PATIENCE_SECONDS = 10.0
_REST_SECONDS = 0.5
_RECENT = 1000


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
        applied = position_of(database_path(self._folder))
        newest = self._newest()
        state = self._state(max(applied, newest.position if newest is not None else 0))
        self._check_record(state)
        is_continued = state.first_seq <= applied + 1
        if is_continued and (applied or newest is None):
            return
        if newest is not None and newest.position + 1 >= state.first_seq:
            self._restore(newest)
        elif not is_continued:
            snapshot = "there is no snapshot" if newest is None else f"the newest snapshot is at {newest.position}"
            raise FailedPrecondition(
                f"stream {self._stream.name} begins at {state.first_seq}, this node has applied {applied}, and"
                f" {snapshot}",
                "somebody purged the stream: have a node that is further take a snapshot with `dex cluster snapshot`",
            )

    def _newest(self) -> Manifest | None:
        return self._link.insist(lambda: self._snapshots.newest(self._stream.partition), _SECONDS)

    def _state(self, least: int) -> api.StreamState:
        """Give where the stream begins and ends, which is not before `least`.

        Raises:
            FailedPrecondition: it ends before that.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            state = self._link.insist(lambda: self._link.js.stream_info(self._stream.name), _SECONDS).state
            if state.last_seq >= least:
                return state
            if time.monotonic() > deadline:
                raise FailedPrecondition(
                    f"stream {self._stream.name} ends at {state.last_seq}, and position {least} was applied before",
                    "it was purged, restored or made anew; use the journal servers that this node belongs to",
                )
            time.sleep(_REST_SECONDS)

    def _check_record(self, state: api.StreamState) -> None:
        """Look whether the stream has what this node has applied last, where both still know.

        Raises:
            FailedPrecondition: it has something else there.
        """
        last = last_record(database_path(self._folder))
        if last is None or last[0] < state.first_seq:
            return
        seq, record = last
        message = self._link.insist(lambda: self._link.js.get_msg(self._stream.name, seq), _SECONDS)
        if decode_message(message.data or b"").record != record:
            raise FailedPrecondition(
                f"stream {self._stream.name} has something else at position {seq} than this node has applied there",
                "it was edited, restored or made anew; use the journal servers that this node belongs to",
            )

    def _restore(self, newest: Manifest) -> None:
        """Put the newest snapshot in the place of the folder."""
        fresh = self._beside("new")
        try:
            found = self._fetch(newest, fresh)
            if self._folder.exists():
                self._folder.rename(self._beside("old"))
            fresh.rename(self._folder)
            _sync(self._folder.parent)
        finally:
            self._clean()
        _log.info("partition %d begins with the snapshot at position %d", found.partition, found.position)

    def _fetch(self, newest: Manifest, into: Path) -> Manifest:
        """Read the newest snapshot into a new folder; another node may put the next one in its place meanwhile.

        Raises:
            FailedPrecondition: it does not verify, or is another cluster's.
        """
        while True:
            if newest.cluster_id != self._cluster_id:
                raise FailedPrecondition(
                    f"the snapshot of partition {newest.partition} is of cluster {newest.cluster_id}",
                    "these journal servers have leavings of another cluster: give this one another name",
                )
            shutil.rmtree(into, ignore_errors=True)
            try:
                into.mkdir(mode=0o700, parents=True)
                path = database_path(into)
                path.touch(0o600)
                self._link.call(self._snapshots.fetch(newest, path), _FETCH_SECONDS)
                _sync(into)
            except FailedPrecondition:
                again = self._newest()
                if again is None or again == newest:
                    raise
                newest = again
            except LINK_ERRORS as error:
                raise Unavailable(
                    f"the snapshot cannot be read or kept: {in_words(error)}", "try again later"
                ) from error
            else:
                return newest

    def _clean(self) -> None:
        for ending in ("new", "old"):
            shutil.rmtree(self._beside(ending), ignore_errors=True)

    def _beside(self, ending: str) -> Path:
        return self._folder.with_name(f"{self._folder.name}.{ending}")


def position_of(path: Path) -> int:
    """Give the last position that a file has applied, 0 where there is none."""
    rows = _look(path, "SELECT max(seq) FROM journal")
    return int(rows[0][0] or 0) if rows else 0


def last_record(path: Path) -> tuple[int, bytes] | None:
    """Give the last record of a file that the stream has as it is, with its position, if it is not long ago."""
    recent = f"SELECT seq, record FROM journal ORDER BY seq DESC LIMIT {_RECENT}"
    rows = _look(path, f"SELECT seq, record FROM ({recent}) WHERE record != ? LIMIT 1", NOTHING)
    return rows[0] if rows else None


def _look(path: Path, query: str, *values: bytes) -> list[Any]:
    if not path.exists():
        return []
    with translated(path), closing(sqlite3.connect(path)) as connection:
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            return []
        return connection.execute(query, values).fetchall()


def _sync(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
