"""`dex store rebuild` (spec: F-07)."""

from dex.cli.params import StoreName
from dex.cli.session import Ctx
from dex.cli.settling import settle
from dex.wcl.commands import RebuildStateStore

EXAMPLES = """
dex store rebuild accounts.tagged
"""


def run(ctx: Ctx, store: StoreName) -> int:
    """Materialise a feed-sourced store anew.

    Readers see the old rows until it is done; the command waits for that.
    """
    result = ctx.obj.engine.execute(RebuildStateStore(name=store))
    code = settle(ctx.obj, store)
    ctx.obj.out.result(result)
    return code
