"""`dex feed drop` (spec: W-11, X-07)."""

from dex.cli.confirm import confirm
from dex.cli.params import FeedName
from dex.cli.session import Ctx
from dex.wcl.commands import DropFeed

EXAMPLES = """
dex feed drop accounts.events --yes
"""


def run(ctx: Ctx, feed: FeedName) -> None:
    """Drop a feed for good.

    Refused while a store materialises it. Asks on a terminal and needs --yes elsewhere.
    """
    command = DropFeed(name=feed)
    confirm(ctx.obj, [command])
    ctx.obj.out.result(ctx.obj.engine.execute(command))
