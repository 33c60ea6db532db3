"""`dex store get-by` (spec: S-10)."""

from typing import Annotated

import typer

from dex.cli.params import StoreName, Strict, WaitMs
from dex.cli.session import Ctx
from dex.cli.storerows import write_found
from dex.cli.values import value_from
from dex.wcl.commands import DEFAULT_WAIT_MS, GetBy

EXAMPLES = """
dex store get-by accounts.employees department eng
dex store get-by accounts.employees level ':=3'
dex store get-by accounts.employees tags ':=["eng", 3]'
"""


def run(
    ctx: Ctx,
    store: StoreName,
    named_key: Annotated[str, typer.Argument(metavar="NAMED_KEY", help="Name of the declared key.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Text, or := and JSON for a typed value.")],
    strict: Strict = False,
    wait_ms: WaitMs = DEFAULT_WAIT_MS,
) -> None:
    """Read the rows that carry a named value.

    No row is an empty list and no error.
    """
    command = GetBy(store=store, named_key=named_key, value=value_from(value), strict=strict, wait_ms=wait_ms)
    write_found(ctx.obj, store, ctx.obj.engine.execute(command))
