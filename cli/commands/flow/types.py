"""`dex flow types` (spec: FL-17)."""

from dex.cli.session import Ctx
from dex.wcl.commands.flows import ShowFlowTypes

EXAMPLES = """
dex flow types
dex flow types --flows orders.py -o table
"""


def run(ctx: Ctx) -> None:
    """List the Flow definitions that are loaded.

    These are the two patterns that come with dex, and those of --flows, DEX_FLOWS and `flows:` in the configuration.
    """
    ctx.obj.out.result(ctx.obj.engine.execute(ShowFlowTypes()))
