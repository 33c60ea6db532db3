"""`dex context show` (spec: X-01)."""

from typing import Annotated

import typer

from dex.cli.contexts import existing, listed
from dex.cli.session import Ctx

EXAMPLES = """
dex context show staging
"""


def run(ctx: Ctx, name: Annotated[str, typer.Argument(metavar="CONTEXT", help="Name of the context.")]) -> None:
    """Show one context.

    What it does not set comes from the file and the defaults; `dex --context NAME config show` shows all together.
    """
    existing(ctx.obj, name)
    ctx.obj.out.result(next(context for context in listed(ctx.obj) if context["name"] == name))
