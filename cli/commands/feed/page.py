"""`dex feed page` (spec: F-01)."""

from typing import Annotated

import typer

from dex.cli.params import FeedName, Limit, between
from dex.cli.session import Ctx
from dex.wcl.commands import PageRecords

EXAMPLES = """
dex feed page accounts.events --limit 100
dex feed page accounts.events --after 256
"""


def run(
    ctx: Ctx,
    feed: FeedName,
    limit: Limit = 256,
    after: Annotated[
        int, typer.Option("--after", metavar="SEQ", callback=between(0), help="Start after this position.")
    ] = 0,
) -> None:
    """Read one page of records.

    The result's next is what --after takes for the next page; the last page has none.
    """
    ctx.obj.out.result(ctx.obj.engine.execute(PageRecords(feed=feed, limit=limit, after=after)))
