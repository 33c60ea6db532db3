"""`dex feed export` (spec: F-01)."""

from collections.abc import Iterator

from dex.cli.exporting import ExportFile, export_lines
from dex.cli.params import FeedName
from dex.cli.session import Ctx, Session
from dex.wcl.commands import DescribeFeed, PageRecords
from dex.wcl.wire import encode

EXAMPLES = """
dex feed export accounts.events events.ndjson
dex feed export accounts.events | gzip > events.ndjson.gz
"""


def run(ctx: Ctx, feed: FeedName, file: ExportFile = None) -> None:
    """Write every record to a file.

    The form is ndjson, {seq, key, metadata, payload} on each line, up to the record that is the last when the export
    begins. import appends the same records in the same order, byte for byte; their positions are new ones. A file
    appears under its name only when it is complete; a pipe or device is written as it is.
    """
    export_lines(ctx.obj, _lines(ctx.obj, feed), file)


def _lines(session: Session, feed: str) -> Iterator[bytes]:
    """Give a header, which ndjson has none of, then a line for each record."""
    session.engine.execute(PageRecords(feed=feed, limit=1))  # tells what is wrong with a name
    last = session.engine.execute(DescribeFeed(name=feed)).last_seq
    yield b""
    position: int | None = 0
    while position is not None and position < last:
        page = session.engine.execute(PageRecords(feed=feed, after=position))
        yield from (encode(record) + b"\n" for record in page.records if record.seq <= last)
        position = page.next
