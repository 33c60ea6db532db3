"""`dex feed list` (spec: W-11)."""

from dex.cli.session import Ctx
from dex.wcl.commands import ShowFeeds

EXAMPLES = """
dex feed list
"""


def run(ctx: Ctx) -> None:
    """List feeds."""
    ctx.obj.out.result(ctx.obj.engine.execute(ShowFeeds()))
