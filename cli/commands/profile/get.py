"""`dex profile get` (spec: H-04)."""

from typing import Annotated

import typer

from dex.cli.session import Ctx
from dex.samples.customer_directory import CustomerDirectory

EXAMPLES = """
dex profile get ann@example.test -o table
"""


def run(ctx: Ctx, email: Annotated[str, typer.Argument(metavar="EMAIL", help="Email address, in any case.")]) -> None:
    """Read a profile by email address."""
    ctx.obj.out.result(CustomerDirectory(ctx.obj.client).get(email))
