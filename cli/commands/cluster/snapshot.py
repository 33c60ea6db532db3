"""`dex cluster snapshot` (spec: K-08, K-09)."""

from dex.cli.session import Ctx
from dex.wcl.commands.cluster import SnapshotCluster

EXAMPLES = """
dex cluster snapshot --endpoint http://10.0.0.1:7171
"""


def run(ctx: Ctx) -> None:
    """Keep a copy of each partition with the journal servers.

    Nodes do so by themselves as the journal grows. A copy counts once it was read back and found to be right; a new or
    wiped node begins with it, and the journal is purged below it.
    """
    ctx.obj.out.result(ctx.obj.engine.execute(SnapshotCluster()))
