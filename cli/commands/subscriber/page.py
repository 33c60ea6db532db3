"""`dex subscriber page` (spec: C-03, C-04)."""

from typing import Annotated

import typer

from dex.cli.session import Ctx
from dex.samples.chunked_subscribers import CURRENT, ChunkedSubscribers

EXAMPLES = """
dex subscriber page
dex subscriber page 00000000000000000101
"""


def run(
    ctx: Ctx,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="current, or the nextPageToken of a page.")] = CURRENT,
) -> None:
    """Read one page, the newest first.

    The result's nextPageToken is the next older page; the oldest page has none.
    """
    ctx.obj.out.result(ChunkedSubscribers(ctx.obj.client).page(token))
