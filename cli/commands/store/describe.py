"""`dex store describe` (spec: S-19)."""

from dex.cli.params import StoreName
from dex.cli.session import Ctx
from dex.wcl.commands import DescribeStateStore

EXAMPLES = """
dex store describe accounts.employees
"""


def run(ctx: Ctx, store: StoreName) -> None:
    """Tell all about one store.

    A dropped store is described too, with the stage "dropped".
    """
    ctx.obj.out.result(ctx.obj.engine.execute(DescribeStateStore(name=store)))
