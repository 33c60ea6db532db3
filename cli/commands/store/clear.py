"""`dex store clear` (spec: S-13, X-07)."""

from dex.cli.confirm import confirm
from dex.cli.params import MutationId, StoreName
from dex.cli.session import Ctx
from dex.wcl.commands import ClearStateStore

EXAMPLES = """
dex store clear accounts.employees --yes
"""


def run(ctx: Ctx, store: StoreName, mutation_id: MutationId = None) -> None:
    """Empty a store.

    Asks on a terminal and needs --yes elsewhere.
    """
    command = ClearStateStore(name=store, mutation_id=mutation_id)
    confirm(ctx.obj, [command])
    ctx.obj.out.result(ctx.obj.engine.execute(command))
