"""`dex store iterate` (spec: S-12)."""

from typing import Annotated

import typer

from dex.cli.paging import rows_of_store
from dex.cli.params import StoreName, between
from dex.cli.session import Ctx
from dex.cli.storerows import write_rows

EXAMPLES = """
dex store iterate accounts.employees -o ndjson | head -1
"""


def run(
    ctx: Ctx,
    store: StoreName,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", callback=between(1), help="Stop after N rows.")
    ] = None,
) -> None:
    """Read every row in key order.

    Rows are written one at a time, as they are read, in bounded memory.
    """
    session = ctx.obj
    write_rows(session, store, rows_of_store(session.engine, store, limit))
