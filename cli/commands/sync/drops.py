"""`dex sync drops` (spec: Y-19, Y-22, Y-25)."""

from typing import Annotated

import typer

from dex.cli.pagelimits import SyncLimit
from dex.cli.session import Ctx
from dex.cli.syncing import refuse_unknown
from dex.wcl.commands.sync import SyncDrops

EXAMPLES = """
dex sync drops
dex sync drops --store orders --limit 20 -o table
"""


def run(
    ctx: Ctx,
    store: Annotated[
        str | None, typer.Option("--store", metavar="ATTRIBUTE_STORE", help="Only of this Attribute Store.")
    ] = None,
    limit: SyncLimit = 100,
) -> None:
    """Show what was given up, when and why, the latest first.

    Compare the rows of these Flows with their Attributes, and write the Attributes again.
    """
    refuse_unknown(ctx.obj, store)
    ctx.obj.out.result(ctx.obj.engine.execute(SyncDrops(store=store, limit=limit)))
