"""`dex flow delete-messages` (spec: FL-09)."""

from typing import Annotated

import typer

from dex.cli.params import Channel, FlowId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import DeleteMessages

EXAMPLES = """
dex flow delete-messages order-1 Payments 17 18
"""


def run(
    ctx: Ctx,
    flow_id: FlowId,
    channel: Channel,
    ids: Annotated[list[str], typer.Argument(metavar="MESSAGE_ID", help="Ids, as `dex flow messages` tells them.")],
) -> None:
    """Delete pending messages of a Channel, all of them or none."""
    command = DeleteMessages(flow_id=flow_id, channel=channel, message_ids=ids)
    ctx.obj.out.result(ctx.obj.engine.execute(command))
