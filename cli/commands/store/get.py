"""`dex store get` (spec: S-09, S-11)."""

from typing import Annotated, cast

import typer

from dex.cli.params import RowKey, StoreName, Strict, WaitMs
from dex.cli.session import Ctx
from dex.cli.storerows import write_row
from dex.cli.values import key_from
from dex.wcl.commands import DEFAULT_WAIT_MS, GetRow, StoreRow

EXAMPLES = """
dex store get accounts.employees u1
dex store get accounts.employees u1 --raw > profile.bin
"""


def run(
    ctx: Ctx,
    store: StoreName,
    key: RowKey,
    raw: Annotated[bool, typer.Option("--raw", help="Write the payload's bytes and nothing else.")] = False,
    strict: Strict = False,
    wait_ms: WaitMs = DEFAULT_WAIT_MS,
) -> None:
    """Read a row by its key.

    A row that does not exist is exit code 1.
    """
    session = ctx.obj
    command = GetRow(store=store, key=key_from(key), strict=strict, wait_ms=wait_ms, required=True)
    row = cast("StoreRow", session.engine.execute(command))
    if raw:
        session.out.raw(row.payload)
    else:
        write_row(session, store, row)
