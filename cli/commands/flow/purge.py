"""`dex flow purge` (spec: FL-16, X-07)."""

from dex.cli.confirm import confirm
from dex.cli.params import ExactRunId, FlowId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import PurgeFlow

EXAMPLES = """
dex flow purge order-1 --run-id 0b1d7c... --yes
"""


def run(ctx: Ctx, flow_id: FlowId, run_id: ExactRunId) -> None:
    """Delete a closed run with all it holds, its history included.

    Asks on a terminal and needs --yes elsewhere.
    """
    command = PurgeFlow(flow_id=flow_id, run_id=run_id)
    confirm(ctx.obj, [command])
    ctx.obj.out.result(ctx.obj.engine.execute(command))
