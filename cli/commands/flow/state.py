"""`dex flow state` (spec: FL-12)."""

from dex.cli.params import FlowId, RunId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import GetFlowState

EXAMPLES = """
dex flow state order-1 -o table
"""


def run(ctx: Ctx, flow_id: FlowId, run_id: RunId = None) -> None:
    """Tell what a run holds now: Steps that are not over, and pending messages."""
    ctx.obj.out.result(ctx.obj.engine.execute(GetFlowState(flow_id=flow_id, run_id=run_id)))
