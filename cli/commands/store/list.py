"""`dex store list` (spec: W-03)."""

from dex.cli.session import Ctx
from dex.wcl.commands import ShowStateStores

EXAMPLES = """
dex store list
dex store list -o json
"""


def run(ctx: Ctx) -> None:
    """List stores."""
    ctx.obj.out.result(ctx.obj.engine.execute(ShowStateStores()))
