"""`dex sync flush` (spec: Y-25)."""

import time
from typing import Annotated

import typer

from dex.cli.session import Ctx
from dex.cli.syncing import open_sync
from dex.wcl.commands.sync import ShowSyncTotals
from dex.wcl.durations import parse_duration

EXAMPLES = """
dex sync flush --sync-config sync.yaml
dex sync flush --sync-config sync.yaml --timeout 5m
"""


def run(
    ctx: Ctx,
    timeout: Annotated[str, typer.Option("--timeout", metavar="DURATION", help="How long to wait at most.")] = "1m",
) -> None:
    """Write all that is pending, and end when nothing is.

    Where another process writes to the stores, it is waited for. The exit code is 4 if something is still pending
    at the end.
    """
    seconds = parse_duration(timeout)
    engine = ctx.obj.engine
    with open_sync(ctx.obj) as sync:
        before = engine.execute(ShowSyncTotals())
        began = time.monotonic()
        sync.flush(seconds)
        took = time.monotonic() - began
    after = engine.execute(ShowSyncTotals(after=before.position))
    ctx.obj.out.result(
        {
            "rows": after.rows,
            "dropped": after.dropped - before.dropped,
            "pending": after.pending,
            "seconds": round(took, 3),
        }
    )
