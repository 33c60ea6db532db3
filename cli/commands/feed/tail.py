"""`dex feed tail` (spec: F-01)."""

from typing import Annotated

import typer

from dex.cli.params import FeedName, between
from dex.cli.session import Ctx
from dex.wcl.commands import DescribeFeed, PageRecords

EXAMPLES = """
dex feed tail accounts.events
dex feed tail accounts.events --after 0 -n 10 -o ndjson
"""

COLUMNS = ["seq", "key", "metadata", "payload"]
_WAIT_MS = 1000
_PAGE = 256


def run(
    ctx: Ctx,
    feed: FeedName,
    after: Annotated[
        int | None,
        typer.Option(
            "--after", metavar="SEQ", callback=between(0), help="Start after this position; default: the end."
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option("-n", metavar="N", callback=between(1), help="Stop after N records.")
    ] = None,
) -> None:
    """Follow a feed.

    Writes each record as it is committed, until Ctrl-C or N records.
    """
    session = ctx.obj
    position = session.engine.execute(DescribeFeed(name=feed)).last_seq if after is None else after
    stream = session.out.stream(COLUMNS)
    while count is None or count > 0:
        limit = _PAGE if count is None else min(count, _PAGE)
        page = session.engine.execute(PageRecords(feed=feed, after=position, limit=limit, wait_ms=_WAIT_MS))
        if not page.records:
            continue
        stream.write(page.records)
        session.out.flush()
        position = page.records[-1].seq
        count = None if count is None else count - len(page.records)
