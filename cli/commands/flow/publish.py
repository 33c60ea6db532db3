"""`dex flow publish` (spec: FL-09)."""

from typing import Annotated

import typer

from dex.cli.flowvalues import input_from
from dex.cli.params import Channel, FlowId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import PublishMessages

EXAMPLES = """
dex flow publish order-1 Payments 400 500
dex flow publish order-1 Notes '"gift wrap"'
"""


def run(
    ctx: Ctx,
    flow_id: FlowId,
    channel: Channel,
    messages: Annotated[list[str], typer.Argument(metavar="JSON", help="Messages; also @FILE.")],
) -> None:
    """Publish messages to a Channel, all in one commit."""
    values = [input_from(message, "the message") for message in messages]
    ctx.obj.out.result(ctx.obj.engine.execute(PublishMessages(flow_id=flow_id, channel=channel, messages=values)))
