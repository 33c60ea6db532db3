"""`dex flow wait` (spec: FL-10)."""

from dex.cli.flowvalues import wait_milliseconds
from dex.cli.flowwork import wait_for
from dex.cli.params import FlowId, RunId, Wait
from dex.cli.session import Ctx
from dex.wcl.commands.flows import WaitForFlow

EXAMPLES = """
dex flow wait order-1
dex flow wait order-1 --wait 10s -o json
"""


def run(ctx: Ctx, flow_id: FlowId, run_id: RunId = None, wait: Wait = "1m") -> None:
    """Wait until a run is closed, and tell how it ended.

    Works Steps meanwhile. The exit code is 0 however the run ended, and 4 if it is not closed in time.
    """
    command = WaitForFlow(flow_id=flow_id, run_id=run_id, wait_ms=wait_milliseconds(wait))
    wait_for(ctx.obj, command)
