"""`dex flow stop` (spec: FL-11, FL-16, X-07)."""

from typing import Annotated, get_args

import typer

from dex.cli.confirm import confirm
from dex.cli.flowvalues import choice
from dex.cli.params import ExactRunId, FlowId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import StopFlow, StopKind

EXAMPLES = """
dex flow stop order-1 --run-id 0b1d7c... --type cancel --reason "ordered twice" --yes
"""


def run(
    ctx: Ctx,
    flow_id: FlowId,
    run_id: ExactRunId,
    kind: Annotated[str, typer.Option("--type", metavar="cancel|fail|terminate", help="How to close it.")] = "cancel",
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the history.")] = "",
) -> None:
    """Close a run at once.

    Asks on a terminal and needs --yes elsewhere.
    """
    stop = choice(kind, get_args(StopKind), "--type")
    command = StopFlow(flow_id=flow_id, run_id=run_id, kind=stop, reason=reason)
    confirm(ctx.obj, [command])
    ctx.obj.out.result(ctx.obj.engine.execute(command))
