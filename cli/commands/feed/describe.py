"""`dex feed describe` (spec: W-11)."""

from dex.cli.params import FeedName
from dex.cli.session import Ctx
from dex.wcl.commands import DescribeFeed

EXAMPLES = """
dex feed describe accounts.events
"""


def run(ctx: Ctx, feed: FeedName) -> None:
    """Tell all about one feed."""
    ctx.obj.out.result(ctx.obj.engine.execute(DescribeFeed(name=feed)))
