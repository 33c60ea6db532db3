"""`dex subscriber start` (spec: C-06)."""

from dex.cli.session import Ctx
from dex.samples.chunked_subscribers import ChunkedSubscribers

EXAMPLES = """
dex subscriber start
"""


def run(ctx: Ctx) -> None:
    """Start the list.

    One that is started already stays as it is; `started` tells which.
    """
    ctx.obj.out.result(ChunkedSubscribers(ctx.obj.client).run.start())
