"""`dex subscriber register` (spec: C-02)."""

from typing import Annotated

import typer

from dex.cli.session import Ctx
from dex.samples.chunked_subscribers import ChunkedSubscribers

EXAMPLES = """
dex subscriber register s-1 ann@example.test
"""


def run(
    ctx: Ctx,
    subscriber_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the subscriber.")],
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Where to deliver to.")],
) -> None:
    """Append a subscriber.

    Tried again for a while if another writer holds the lock.
    """
    ctx.obj.out.result(ChunkedSubscribers(ctx.obj.client).register(subscriber_id, address))
