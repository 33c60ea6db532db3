"""`dex profile start` (spec: H-06)."""

from dex.cli.session import Ctx
from dex.samples.customer_directory import CustomerDirectory

EXAMPLES = """
dex profile start
"""


def run(ctx: Ctx) -> None:
    """Start the directory.

    One that is started already stays as it is; `started` tells which.
    """
    ctx.obj.out.result(CustomerDirectory(ctx.obj.client).run.start())
