"""`dex feed import` (spec: F-01)."""

from typing import Annotated

import typer

from dex.cli.importing.records import record_from, sender
from dex.cli.importing.run import Reading, import_file
from dex.cli.params import FeedName
from dex.cli.session import Ctx
from dex.wcl.commands import PageRecords

EXAMPLES = """
dex feed import accounts.events events.ndjson
"""


def run(
    ctx: Ctx,
    feed: FeedName,
    file: Annotated[str, typer.Argument(metavar="FILE", help="ndjson to read, or - for standard input.")],
) -> None:
    """Append records from a file.

    Each line is {key, metadata, payload}, as tail -o ndjson writes it; a payload of null deletes the key's row in
    stores over the feed. A line that fails does not stop the others; the exit code is 1 if any did.
    """
    session = ctx.obj
    session.engine.execute(PageRecords(feed=feed, limit=1))
    reading = Reading(record_from, record_from)
    import_file(session, file, "ndjson", reading, sender(session.engine, feed), replaces=False)
