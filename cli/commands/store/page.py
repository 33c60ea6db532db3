"""`dex store page` (spec: S-12)."""

from typing import Annotated

import typer

from dex.cli.params import Limit, StoreName
from dex.cli.session import Ctx
from dex.cli.storerows import write_found
from dex.cli.values import key_from
from dex.wcl.commands import PageRows

EXAMPLES = """
dex store page accounts.employees --limit 100
dex store page accounts.employees --after u1
"""


def run(
    ctx: Ctx,
    store: StoreName,
    limit: Limit = 256,
    after: Annotated[str | None, typer.Option("--after", metavar="KEY", help="Start after this key.")] = None,
) -> None:
    """Read one page of rows.

    The result's next_key is what --after takes for the next page; the last page has none.
    """
    command = PageRows(store=store, limit=limit, after=None if after is None else key_from(after))
    write_found(ctx.obj, store, ctx.obj.engine.execute(command))
