"""`dex store drop` (spec: S-14, X-07)."""

from dex.cli.confirm import confirm
from dex.cli.params import StoreName
from dex.cli.session import Ctx
from dex.wcl.commands import DropStateStore

EXAMPLES = """
dex store drop accounts.employees --yes
"""


def run(ctx: Ctx, store: StoreName) -> None:
    """Drop a store for good.

    The name cannot be used again. Asks on a terminal and needs --yes elsewhere.
    """
    command = DropStateStore(name=store)
    confirm(ctx.obj, [command])
    ctx.obj.out.result(ctx.obj.engine.execute(command))
