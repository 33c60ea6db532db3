"""`dex flow wait-attribute` (spec: FL-10)."""

from typing import Annotated

import typer

from dex.cli.flowvalues import typed_hint, value_of, wait_milliseconds
from dex.cli.flowwork import wait_for
from dex.cli.params import FlowId, Wait
from dex.cli.session import Ctx
from dex.wcl.commands.flows import WaitForAttribute

EXAMPLES = """
dex flow wait-attribute order-1 Status shipped
dex flow wait-attribute order-1 Priority :=3 --wait 10s
"""


def run(
    ctx: Ctx,
    flow_id: FlowId,
    name: Annotated[str, typer.Argument(metavar="ATTRIBUTE", help="Name of the attribute, or MAP/INSTANCE.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Text, or JSON after :=.")],
    wait: Wait = "1m",
) -> None:
    """Wait until an attribute has a value.

    Works Steps meanwhile. The exit code is 4 if it has another value all the time.
    """
    command = WaitForAttribute(flow_id=flow_id, name=name, value=value_of(value), wait_ms=wait_milliseconds(wait))
    with typed_hint():
        wait_for(ctx.obj, command)
