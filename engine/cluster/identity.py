"""Which cluster a node belongs to: told by the journal servers once for all nodes, and kept beside the node's files."""

import fcntl
import os
from pathlib import Path
from typing import IO
from uuid import uuid4

import msgspec

from dex.engine.cluster.settings import ClusterSettings
from dex.engine.directories import NODE_FILE, PARTITION_FOLDER
from dex.wcl.errors import FailedPrecondition, Refused

_LOCK = "node.lock"


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster: its id, made once, and what never changes about it."""

    cluster_id: str
    partitions: int
    replicas: int


def proposed(settings: ClusterSettings) -> bytes:
    """Give what the first node of a cluster makes it."""
    return encode(Identity(cluster_id=uuid4().hex, partitions=settings.partitions, replicas=settings.replicas))


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Identity).decode


def check_settings(identity: Identity, settings: ClusterSettings) -> None:
    """Check what a node is told against its cluster.

    Raises:
        FailedPrecondition: it is told another number of partitions or replicas.
    """
    for what in ("partitions", "replicas"):
        has, told = getattr(identity, what), getattr(settings, what)
        if has != told:
            raise FailedPrecondition(
                f"cluster {settings.name!r} has {has} {what}, and this node is told {told}",
                f"start it with {has}: their number is fixed when a cluster is made",
            )


def kept(data_dir: Path) -> Identity | None:
    """Give the cluster that a data directory is of, None where it does not tell.

    Raises:
        FailedPrecondition: what it tells cannot be read.
    """
    path = data_dir / NODE_FILE
    try:
        return decode(path.read_bytes()) if path.exists() else None
    except (OSError, msgspec.DecodeError) as error:
        raise FailedPrecondition(
            f"{path} cannot be read: {error}", "start the node with an empty --data-dir; it takes a snapshot"
        ) from error


def adopt(identity: Identity, data_dir: Path) -> None:
    """Check that a data directory is this cluster's; a new one is from now on.

    Raises:
        FailedPrecondition: it is another cluster's, does not tell whose it is, or tells it wrongly.
        Refused: it cannot be written.
    """
    found, path = kept(data_dir), data_dir / NODE_FILE
    if found == identity:
        return
    if found is not None and found.cluster_id == identity.cluster_id:
        raise FailedPrecondition(
            f"{path} was edited: it has {found.partitions} partitions and {found.replicas} replicas, and the cluster"
            f" has {identity.partitions} and {identity.replicas}",
            f"put {encode(identity).decode()} back into it",
        )
    if found is not None or any(data_dir.glob(f"{PARTITION_FOLDER}*")):
        whose = f"cluster {found.cluster_id}" if found is not None else "a cluster that it does not name"
        raise FailedPrecondition(
            f"{data_dir} belongs to {whose}, and these journal servers have cluster {identity.cluster_id}",
            "name another --data-dir, or the journal servers that this one belongs to",
        )
    temporary = path.with_suffix(".new")
    try:
        with temporary.open("wb") as file:
            file.write(encode(identity))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error}", "check the folder, or name another --data-dir") from error


def lock(data_dir: Path) -> IO[bytes]:
    """Keep other nodes out of a data directory until the file that this gives is closed, or the process ends.

    Raises:
        Refused: another node uses it, or it cannot be made.
    """
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = (data_dir / _LOCK).open("ab")
    except OSError as error:
        raise Refused(f"{data_dir} cannot be used: {error}", "check the folder, or name another --data-dir") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise Refused(f"another node uses {data_dir}", "stop that one, or name another --data-dir") from error
    return file
