"""`dex flow describe` (spec: FL-12)."""

from dex.cli.params import FlowId, RunId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import DescribeFlow

EXAMPLES = """
dex flow describe order-1 -o table
"""


def run(ctx: Ctx, flow_id: FlowId, run_id: RunId = None) -> None:
    """Tell all about one run."""
    ctx.obj.out.result(ctx.obj.engine.execute(DescribeFlow(flow_id=flow_id, run_id=run_id)))
