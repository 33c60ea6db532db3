"""`dex subscriber list` (spec: C-06)."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import typer

from dex.cli.params import between
from dex.cli.session import Ctx
from dex.samples.chunked_subscribers import CURRENT, ChunkedSubscribers, Subscriber
from dex.wcl.errors import InputError

EXAMPLES = """
dex subscriber list --limit 500
dex subscriber list --all -o ndjson
"""

COLUMNS = ["sequence", "subscriberId", "deliveryAddress"]
_DEFAULT = 100


def run(
    ctx: Ctx,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", callback=between(1), help="How many at most; default: 100.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
) -> None:
    """Read subscribers, the newest first, page after page.

    As JSON they are one list; in the other formats they are written as they are read, in bounded memory.
    """
    if all_ and limit is not None:
        raise InputError("--limit and --all are both given", "give one of them")
    found = _subscribers(ChunkedSubscribers(ctx.obj.client))
    wanted = found if all_ else islice(found, limit or _DEFAULT)
    if ctx.obj.form == "json":
        ctx.obj.out.result(list(wanted))
    else:
        ctx.obj.out.items(wanted, COLUMNS)


def _subscribers(subscribers: ChunkedSubscribers) -> Iterator[Subscriber]:
    token: str | None = CURRENT
    while token is not None:
        page = subscribers.page(token)
        yield from page.subscribers
        token = page.next_page_token
