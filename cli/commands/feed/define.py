"""`dex feed define` (spec: W-11)."""

from dex.cli.params import FeedName
from dex.cli.session import Ctx
from dex.wcl.commands import DefineFeed, DescribeFeed
from dex.wcl.wire import to_json

EXAMPLES = """
dex feed define accounts.events
"""


def run(ctx: Ctx, feed: FeedName) -> None:
    """Declare a feed.

    The result is that of describe, and whether the feed was created or is unchanged.
    """
    session = ctx.obj
    defined = session.engine.execute(DefineFeed(name=feed))
    description = session.engine.execute(DescribeFeed(name=feed))
    session.out.result({"status": defined.status, **to_json(description)})
