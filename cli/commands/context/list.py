"""`dex context list` (spec: X-01)."""

from dex.cli.contexts import listed
from dex.cli.session import Ctx

EXAMPLES = """
dex context list
"""


def run(ctx: Ctx) -> None:
    """List contexts."""
    ctx.obj.out.result(listed(ctx.obj))
