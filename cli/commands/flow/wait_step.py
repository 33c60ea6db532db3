"""`dex flow wait-step` (spec: FL-10)."""

from typing import Annotated

import typer

from dex.cli.flowvalues import wait_milliseconds
from dex.cli.flowwork import wait_for
from dex.cli.params import FlowId, Wait
from dex.cli.session import Ctx
from dex.wcl.commands.flows import WaitForStep

EXAMPLES = """
dex flow wait-step order-1 AwaitPayment
dex flow wait-step order-1 AwaitPayment-2 --wait 10s
"""


def run(
    ctx: Ctx,
    flow_id: FlowId,
    step: Annotated[str, typer.Argument(metavar="STEP", help="Type of the Step, or its execution id TYPE-N.")],
    wait: Wait = "1m",
) -> None:
    """Wait until a Step is over.

    Works Steps meanwhile. The exit code is 4 if it is not over in time.
    """
    command = WaitForStep(flow_id=flow_id, step=step, wait_ms=wait_milliseconds(wait))
    wait_for(ctx.obj, command)
