"""`dex cluster drain` (spec: K-09)."""

from typing import Annotated

import typer

from dex.cli.session import Ctx
from dex.wcl.commands.cluster import DrainNode

EXAMPLES = """
dex cluster drain node-2 --endpoint http://10.0.0.1:7171
"""


def run(
    ctx: Ctx, node: Annotated[str, typer.Argument(metavar="NODE", help="Its name; see `dex cluster status`.")]
) -> None:
    """Have a node hand its partitions over, before it is stopped.

    Other nodes own them within a second, and this one takes none any more until it is started again; it goes on to
    answer whatever it is asked. The last one that can own partitions refuses. A node that is stopped by SIGTERM does
    the same by itself.
    """
    ctx.obj.out.result(ctx.obj.engine.execute(DrainNode(node=node)))
