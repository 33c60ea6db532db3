"""`dex cluster status` (spec: K-09)."""

import sys
import time
from typing import Annotated, Any

import typer

from dex.cli.session import Ctx, Session
from dex.wcl.commands.cluster import ClusterNode, ClusterPartition, ClusterStatus, ShowCluster

EXAMPLES = """
dex cluster status --endpoint http://10.0.0.1:7171
dex cluster status --endpoint http://10.0.0.1:7171,http://10.0.0.2:7171 -o json
dex cluster status --watch
"""

_SECONDS = 1.0
_CLEAR = b"\x1b[H\x1b[2J"


def run(
    ctx: Ctx,
    watch: Annotated[bool, typer.Option("--watch", help="Look again every second, until Ctrl-C.")] = False,
) -> None:
    """Tell how all nodes and partitions stand.

    Any node answers. `behind` is how many committed positions a node has not applied yet, for each node that answered;
    the owner of a partition works its Flows.
    """
    session = ctx.obj
    _show(session, session.engine.execute(ShowCluster()))
    while watch:
        time.sleep(_SECONDS)
        status = session.engine.execute(ShowCluster())
        if session.form == "table" and sys.stdout.isatty():
            session.out.raw(_CLEAR)
        _show(session, status)


def _show(session: Session, status: ClusterStatus) -> None:
    if session.form == "table":
        _tables(session, status)
    else:
        session.out.result(status)
    session.out.flush()


def _tables(session: Session, status: ClusterStatus) -> None:
    out = session.out
    if not status.journal:
        session.tell(f"the journal servers do not answer {status.answered_by}; this is what it knew last")
    out.items([{"node": node.name, "url": node.url, "state": _state(node)} for node in status.nodes], _NODE)
    out.line("")
    answered = [node.name for node in status.nodes if node.alive]
    columns = ["partition", "owner", "epoch", "committed", "snapshot", *(f"behind {name}" for name in answered)]
    out.items([_row(partition) for partition in status.partitions], columns)


_NODE = ["node", "url", "state"]


def _state(node: ClusterNode) -> str:
    if not node.alive:
        return "does not answer"
    return "draining" if node.draining else "alive"


def _row(partition: ClusterPartition) -> dict[str, Any]:
    behind = {f"behind {copy.node}": copy.fault or copy.behind for copy in partition.copies}
    return {
        "partition": partition.number,
        "owner": partition.owner,
        "epoch": partition.epoch,
        "committed": partition.committed,
        "snapshot": partition.snapshot,
        **behind,
    }
