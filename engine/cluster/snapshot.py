"""Snapshots of partitions: a copy of a node's file at one position, kept by the journal servers (spec: K-08).

A snapshot counts once it was read back and found to be what was copied; its manifest is written then. Each is an object
of its own, so that a node that hung while it wrote one spoils no other. The one before stays, for a node that is
reading it.
"""

import asyncio
import os
import sqlite3
from base64 import b64decode
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
import nats.js.errors
from nats.js import JetStreamContext, api
from nats.js.object_store import ObjectStore

from dex.engine.cluster.continuity import Reached, reached
from dex.engine.cluster.link import Link
from dex.engine.cluster.shared import Shared
from dex.engine.journal import last_seq
from dex.engine.sqlite.connection import SCHEMA_VERSION
from dex.engine.sqlite.errors import translated
from dex.wcl.errors import FailedPrecondition, Unavailable

_CHUNK_BYTES = 1024 * 1024
_ANSWER_SECONDS = 15.0
_LEAST_SECONDS = 60.0
_BYTES_PER_SECOND = 1_000_000


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A verified snapshot: of which partition at which position, as which object, and what it must be.

    `message` is the sequence of the last message that it has, 0 where that is its position: a message had one record
    then. `before` is the one before it, while that is kept too.
    """

    partition: int
    position: int
    message: int = 0
    name: str
    bytes: int
    sha256: str
    schema: int
    cluster_id: str
    node: str
    mark: int | None
    before: "Manifest | None" = None

    @property
    def reached(self) -> Reached:
        """The last message that the snapshot has."""
        return Reached(self.message or self.position, self.mark)


class Copy(NamedTuple):
    """A copied file: its last position, the message that is from, its size, its digest and its schema version."""

    position: int
    message: int
    mark: int | None
    bytes: int
    sha256: str
    schema: int


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Manifest).decode


class SnapshotStore:
    """The snapshots that a cluster has. What it raises of the journal servers' client is for `Link.insist`."""

    def __init__(self, link: Link, shared: Shared, cluster: str, replicas: int) -> None:
        self._link = link
        self._shared = shared
        self._replicas = replicas
        self._bucket = f"{cluster}-snapshots"

    async def make(self) -> None:
        """Make the object store where there is none."""
        try:
            await self._link.js.stream_info(f"OBJ_{self._bucket}")
        except nats.js.errors.NotFoundError:
            await self._link.js.create_object_store(self._bucket, replicas=self._replicas)

    async def newest(self, partition: int) -> Manifest | None:
        """Give the newest verified snapshot of a partition."""
        found = await self._shared.read(_key(partition))
        return _decode(found.data) if found.revision else None

    async def put(self, manifest: Manifest, path: Path, instead_of: Manifest | None = None) -> Manifest:
        """Keep a copied file as the newest snapshot, also instead of one that does not verify; give the newest.

        Raises:
            Unavailable: what was read back is not what was copied.
        """
        await self.make()  # somebody may have deleted it
        store = await self._store()
        options = api.ObjectMetaOptions(max_chunk_size=_CHUNK_BYTES)
        with path.open("rb") as file:
            await store.put(manifest.name, file, meta=api.ObjectMeta(name=manifest.name, options=options))
        problem = await self.problem(manifest)
        if problem is not None:
            raise Unavailable(
                f"the snapshot of partition {manifest.partition} was read back otherwise than written: {problem}",
                "look at the disks of the journal servers, and take it again",
            )
        counts = await self._count(manifest, instead_of)
        await self._clean(counts)
        return counts

    async def _clean(self, counts: Manifest) -> None:
        """Delete all snapshots of a partition but the one that counts and the one before."""
        kept = {counts.name, counts.before.name if counts.before is not None else ""}
        metas = f"$O.{self._bucket}.M."
        found = await self._link.js.stream_info(f"OBJ_{self._bucket}", subjects_filter=f"{metas}>")
        for subject in found.state.subjects or {}:
            name = b64decode(subject.removeprefix(metas), altchars=b"-_").decode()
            if name.startswith(f"{counts.partition}-") and name not in kept:
                info = await (await self._store()).get_info(name, show_deleted=True)
                for purged in (f"$O.{self._bucket}.C.{info.nuid}", subject):
                    await self._link.js.purge_stream(f"OBJ_{self._bucket}", subject=purged)

    async def problem(self, manifest: Manifest) -> str | None:
        """Read a snapshot and give what is wrong with it."""
        return await self._read(manifest, _Digest())

    async def fetch(self, manifest: Manifest, path: Path) -> None:
        """Read a snapshot into a new file.

        Raises:
            FailedPrecondition: it is not what its manifest says.
        """
        with path.open("wb") as file:
            problem = await self._read(manifest, _Digest(file))
            file.flush()
            os.fsync(file.fileno())
        if problem is None:
            problem = await asyncio.get_running_loop().run_in_executor(None, _restore, path, manifest)
        if problem is not None:
            raise FailedPrecondition(
                f"the snapshot of partition {manifest.partition} at position {manifest.position} does not verify:"
                f" {problem}",
                "have a node that runs take another one with `dex cluster snapshot`, then start this node again",
            )

    async def _read(self, manifest: Manifest, into: "_Digest") -> str | None:
        """Read a snapshot; give what is wrong with it."""
        seconds = _LEAST_SECONDS + manifest.bytes / _BYTES_PER_SECOND
        try:
            store = await self._store()
            missing = await self._missing(store, manifest.name)
            if missing:
                return f"{missing} of its parts are missing"
            await asyncio.wait_for(store.get(manifest.name, writeinto=into), seconds)  # type: ignore[arg-type]  # it writes
        except (nats.js.errors.NotFoundError, nats.js.errors.BadObjectMetaError):
            return "it is not there"
        except nats.js.errors.DigestMismatchError:
            return "the journal servers have other contents"
        return None if into.hexdigest() == manifest.sha256 else "its contents are others"

    async def _missing(self, store: ObjectStore, name: str) -> int:
        """Give how many parts of an object are not there: the client library waits for the last one for ever."""
        info = await store.get_info(name)
        parts = f"$O.{self._bucket}.C.{info.nuid}"
        found = await self._link.js.stream_info(f"OBJ_{self._bucket}", subjects_filter=parts)
        return (info.chunks or 0) - (found.state.subjects or {}).get(parts, 0)

    async def _count(self, manifest: Manifest, instead_of: Manifest | None) -> Manifest:
        """Write a manifest, unless there is a newer one."""
        while True:
            found = await self._shared.read(_key(manifest.partition))
            other = _decode(found.data) if found.revision else None
            if other is not None and other != instead_of and other.position >= manifest.position:
                return other
            key, data = _key(manifest.partition), _encode(manifest)
            if await self._shared.write(key, data, expected=found.revision) is not None:
                return manifest

    async def _store(self) -> ObjectStore:
        js: JetStreamContext = self._link.nc.jetstream(timeout=_ANSWER_SECONDS)
        return await js.object_store(self._bucket)


class _Digest:
    """Takes what is written, into a file or nowhere, and has its digest."""

    def __init__(self, file: Any = None) -> None:
        self._sum = sha256()
        self._file = file

    def write(self, data: bytes) -> None:
        """Take some bytes."""
        self._sum.update(data)
        if self._file is not None:
            self._file.write(data)

    def hexdigest(self) -> str:
        """Give the digest of all that was written."""
        return self._sum.hexdigest()


def copy_file(path: Path, into: Path) -> Copy:
    """Copy a database while others use it; the copy is of one moment.

    Raises:
        DexError: it cannot be read, or the copy not be written.
    """
    with translated(path), closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(into)) as copy:
        copy.execute("PRAGMA synchronous=OFF")
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, whatever is read of it
        position, last = last_seq(copy), reached(copy)
        (schema,) = copy.execute("PRAGMA user_version").fetchone()
    digest, size = sha256(), 0
    with into.open("rb") as file:
        while block := file.read(_CHUNK_BYTES):
            digest.update(block)
            size += len(block)
    return Copy(position, *last, size, digest.hexdigest(), schema)


def last_before(path: Path, positions: int) -> int:
    """Give the last message of the stream that has none of so many last positions of a node's file.

    Where the file has trimmed the first of these, it is one that is safely before them, as each message has a record.

    Raises:
        DexError: the file cannot be read.
    """
    with translated(path), closing(sqlite3.connect(path)) as connection:
        first = last_seq(connection) - positions + 1
        query = "SELECT seq, ifnull(message, seq) FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1"
        seq, message = connection.execute(query, (first,)).fetchone() or (first, reached(connection).seq + 1)
    return int(message - 1 - (seq - first))


def _restore(path: Path, manifest: Manifest) -> str | None:
    """Look whether a fetched file is sound, and make it as a node has it; give what is wrong."""
    if manifest.schema > SCHEMA_VERSION:
        return f"a newer dex wrote it (schema {manifest.schema}, this one knows {SCHEMA_VERSION}); upgrade this node"
    try:
        with closing(sqlite3.connect(path)) as connection:
            (found,) = connection.execute("PRAGMA integrity_check").fetchone()
            position = last_seq(connection)
            connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.Error as error:
        return str(error)
    if found != "ok":
        return str(found)
    return None if position == manifest.position else f"it is at position {position}"


def _key(partition: int) -> str:
    return f"snapshot.{partition}"


def new_name(partition: int) -> str:
    """Give a name for a snapshot of a partition that no other has."""
    return f"{partition}-{uuid4().hex}"
