"""`dex context remove` (spec: X-01)."""

from typing import Annotated

import typer

from dex.cli.contexts import change, existing
from dex.cli.session import Ctx

EXAMPLES = """
dex context remove staging
"""


def run(ctx: Ctx, name: Annotated[str, typer.Argument(metavar="CONTEXT", help="Name of the context.")]) -> None:
    """Remove a context.

    A removed default leaves no default. Rewrites the configuration file; comments in it are not kept.
    """
    contexts = {other: given for other, given in existing(ctx.obj, name).items() if other != name}
    current = ctx.obj.settings.config.get("context")
    change(ctx.obj, contexts=contexts, context=None if current == name else current)
    ctx.obj.out.result({"removed": name})
