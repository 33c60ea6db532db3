"""`dex flow set` (spec: FL-03, FL-10)."""

from typing import Annotated

import typer

from dex.cli.flowvalues import attributes_from, typed_hint
from dex.cli.params import FlowId, RunId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import SetAttributes

EXAMPLES = """
dex flow set order-1 Status=open Priority:=3
dex flow set order-1 Priority:=null
"""


def run(
    ctx: Ctx,
    flow_id: FlowId,
    values: Annotated[
        list[str], typer.Argument(metavar="ATTRIBUTE=V", help="k=text, k=@FILE for bytes, or k:=JSON; :=null deletes.")
    ],
    run_id: RunId = None,
) -> None:
    """Write attributes, all in one commit."""
    command = SetAttributes(flow_id=flow_id, attributes=attributes_from(values), run_id=run_id)
    with typed_hint():
        ctx.obj.out.result(ctx.obj.engine.execute(command))
