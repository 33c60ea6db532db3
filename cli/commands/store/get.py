"""`dex store get` (spec: S-09, S-11)."""

from typing import Annotated

import typer

from dex.cli.params import RowKey, StoreName, Strict, WaitMs
from dex.cli.session import Ctx
from dex.cli.storerows import write_row
from dex.cli.values import key_from
from dex.wcl.commands import DEFAULT_WAIT_MS, GetRow
from dex.wcl.errors import NotFound

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
    row = session.engine.execute(GetRow(store=store, key=key_from(key), strict=strict, wait_ms=wait_ms))
    if row is None:
        raise NotFound(
            f"there is no row {key!r} in {store!r}", "`dex store iterate` shows what there is", store=store, key=key
        )
    if raw:
        session.out.raw(row.payload)
    else:
        write_row(session, store, row)
