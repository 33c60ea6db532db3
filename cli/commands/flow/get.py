"""`dex flow get` (spec: FL-10)."""

from typing import Annotated

import typer

from dex.cli.params import FlowId, RunId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import GetAttributes

EXAMPLES = """
dex flow get order-1
dex flow get chunked-subscribers SubscriberArchiveState SubscriberChunks/current
"""


def run(
    ctx: Ctx,
    flow_id: FlowId,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="ATTRIBUTE", help="Attributes, or MAP/INSTANCE; default: all that are set."),
    ] = None,
    run_id: RunId = None,
) -> None:
    """Read attributes.

    Those that are not set are left out.
    """
    ctx.obj.out.result(ctx.obj.engine.execute(GetAttributes(flow_id=flow_id, names=list(names or []), run_id=run_id)))
