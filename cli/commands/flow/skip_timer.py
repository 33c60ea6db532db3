"""`dex flow skip-timer` (spec: FL-08)."""

from typing import Annotated

import typer

from dex.cli.params import FlowId, between
from dex.cli.session import Ctx
from dex.wcl.commands.flows import SkipTimer

EXAMPLES = """
dex flow skip-timer order-1 AwaitPayment-1 too-late
dex flow skip-timer order-1 AwaitPayment-1 --index 0
"""


def run(
    ctx: Ctx,
    flow_id: FlowId,
    step: Annotated[
        str, typer.Argument(metavar="STEP", help="Execution id of the Step, as `dex flow state` tells it.")
    ],
    condition_id: Annotated[str | None, typer.Argument(metavar="CONDITION", help="Condition id of the timer.")] = None,
    index: Annotated[
        int, typer.Option("--index", metavar="N", callback=between(0), help="The timer by its number from 0.")
    ] = 0,
) -> None:
    """Fire a timer of a waiting Step now."""
    command = SkipTimer(
        flow_id=flow_id,
        step_execution_id=step,
        condition_id=condition_id,
        index=index if condition_id is None else None,
    )
    ctx.obj.out.result(ctx.obj.engine.execute(command))
