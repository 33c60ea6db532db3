"""`dex cluster status` (spec: K-09)."""

import sys
import time
from typing import Annotated, Any

import typer

from dex.cli.session import Ctx, Session
from dex.engine.clock import SystemClock, iso
from dex.wcl.commands.cluster import ClusterNode, ClusterPartition, ClusterStatus, ShowCluster
from dex.wcl.errors import Unavailable

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
    the owner of a partition works its Flows. The exit code is 0 whenever a node answers, also where others do not, or
    the journal: a script looks at `alive`, `owner`, `fault` and `journal` of the JSON. Once a node has answered,
    --watch goes on where none does, and says so; its tables begin with the time of the look.
    """
    session = ctx.obj
    _show(session, session.engine.execute(ShowCluster()), watch)
    while watch:
        time.sleep(_SECONDS)
        try:
            status = session.engine.execute(ShowCluster())
        except Unavailable as error:  # as while the node that is asked is started anew
            session.tell(str(error))
            continue
        session.out.raw(_between(session.form))
        _show(session, status, watch)


def _show(session: Session, status: ClusterStatus, watch: bool) -> None:
    if session.form == "table":
        if watch:
            session.out.line(iso(SystemClock().now_ms()))
        _tables(session, status)
    else:
        session.out.result(status)
    session.out.flush()


def _tables(session: Session, status: ClusterStatus) -> None:
    out = session.out
    if not status.journal:
        session.tell(f"the journal servers do not answer node {status.answered_by}; this is what it knew last")
    out.items([{"node": node.name, "url": node.url, "state": _state(node)} for node in status.nodes], _NODE)
    out.line("")
    answered = [node.name for node in status.nodes if node.alive]
    columns = ["partition", "owner", "epoch", "committed", "snapshot", *(f"behind {name}" for name in answered)]
    out.items([_row(partition) for partition in status.partitions], columns)
    for partition in status.partitions:
        for copy in partition.copies:
            if copy.fault:
                out.line(f"fault of partition {partition.number} on {copy.node}: {copy.fault}")


def _between(form: str) -> bytes:
    """Give what stands between two looks: on a terminal the second takes the place of the first."""
    if form == "table":
        return _CLEAR if sys.stdout.isatty() else b"\n"
    return b"---\n" if form == "yaml" else b""


_NODE = ["node", "url", "state"]


def _state(node: ClusterNode) -> str:
    if not node.alive:
        return "does not answer"
    state = "draining" if node.draining else "alive"
    return f"{state}, {node.clock}" if node.clock else state


def _row(partition: ClusterPartition) -> dict[str, Any]:
    """Give the cells of a partition; what there is none of is empty."""
    behind = {f"behind {copy.node}": "fault" if copy.fault else copy.behind for copy in partition.copies}
    row = {
        "partition": partition.number,
        "owner": partition.owner,
        "epoch": partition.epoch,
        "committed": partition.committed,
        "snapshot": partition.snapshot,
        **behind,
    }
    return {name: value for name, value in row.items() if value is not None}
