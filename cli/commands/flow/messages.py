"""`dex flow messages` (spec: FL-09)."""

from dex.cli.pagelimits import FlowLimit
from dex.cli.params import Channel, FlowId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import ListMessages

EXAMPLES = """
dex flow messages order-1 Payments
"""


def run(ctx: Ctx, flow_id: FlowId, channel: Channel, limit: FlowLimit = 100) -> None:
    """List the pending messages of a Channel, the oldest first."""
    ctx.obj.out.result(ctx.obj.engine.execute(ListMessages(flow_id=flow_id, channel=channel, limit=limit)))
