"""The smoke check of a cluster: what one node writes the others read, and every node answers (spec: K-03, K-07)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dex.cli.session import Session
from dex.cli.smoketarget import Mismatch, Target, expect
from dex.wcl.commands import GetRow, PutRow
from dex.wcl.commands.cluster import ClusterNode, ShowCluster
from dex.wcl.errors import Refused

if TYPE_CHECKING:
    from dex.engine.remote.engine import RemoteEngine

_CATCH_UP_MS = 10_000


def is_cluster(session: Session) -> bool:
    """Tell whether the target is a node of a cluster."""
    if session.endpoint is None:
        return False
    try:
        session.engine.execute(ShowCluster())
    except Refused:
        return False
    return True


def check_replication(session: Session, target: Target) -> str:
    """Write by each node, and read strictly by all others.

    Raises:
        DexError: a node refuses.
        Mismatch: one does not answer, or has not what another wrote.
    """
    status = target.engine.execute(ShowCluster())
    silent = [node.name for node in status.nodes if not node.alive]
    if silent:
        raise Mismatch(f"{', '.join(silent)} of {len(status.nodes)} nodes does not answer")
    for writer in status.nodes:
        key = f"by-{writer.name}".encode()
        with _at(session, writer) as engine:
            engine.execute(PutRow(store=target.store, key=key, payload=key))
        for reader in status.nodes:
            with _at(session, reader) as engine:
                row = engine.execute(GetRow(store=target.store, key=key, strict=True, wait_ms=_CATCH_UP_MS))
            expect(row and row.payload, key, f"what {writer.name} wrote, read by {reader.name}")
    lost = [str(partition.number) for partition in status.partitions if partition.owner is None]
    if lost:
        raise Mismatch(f"nobody owns partition {', '.join(lost)}")
    return f"what any of {len(status.nodes)} nodes writes, all read"


@contextmanager
def _at(session: Session, node: ClusterNode) -> "Iterator[RemoteEngine]":
    from dex.engine.remote.endpoints import parse_endpoints
    from dex.engine.remote.engine import RemoteEngine

    engine = RemoteEngine(parse_endpoints(node.url), token=session.settings["token"], own_ids=True)
    try:
        yield engine
    finally:
        engine.close()
