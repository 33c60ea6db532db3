"""`dex context use` (spec: X-01)."""

from typing import Annotated

import typer

from dex.cli.contexts import change, existing
from dex.cli.session import Ctx

EXAMPLES = """
dex context use staging
"""


def run(ctx: Ctx, name: Annotated[str, typer.Argument(metavar="CONTEXT", help="Name of the context.")]) -> None:
    """Make a context the default.

    Rewrites the configuration file; comments in it are not kept.
    """
    existing(ctx.obj, name)
    change(ctx.obj, context=name)
    ctx.obj.out.result({"context": name})
