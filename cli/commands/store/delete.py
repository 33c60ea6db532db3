"""`dex store delete` (spec: S-08)."""

from dex.cli.params import MutationId, RowKey, StoreName
from dex.cli.session import Ctx
from dex.cli.values import key_from
from dex.wcl.commands import DeleteRow

EXAMPLES = """
dex store delete accounts.employees u1
"""


def run(ctx: Ctx, store: StoreName, key: RowKey, mutation_id: MutationId = None) -> None:
    """Remove a row.

    A missing row is no error: the result says whether it existed.
    """
    command = DeleteRow(store=store, key=key_from(key), mutation_id=mutation_id)
    ctx.obj.out.result(ctx.obj.engine.execute(command))
