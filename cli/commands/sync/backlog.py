"""`dex sync backlog` (spec: Y-25)."""

from typing import Annotated

import typer

from dex.cli.pagelimits import SyncLimit
from dex.cli.session import Ctx
from dex.cli.syncing import refuse_unknown
from dex.wcl.commands.sync import Backlog, SyncBacklog
from dex.wcl.durations import parse_duration
from dex.wcl.errors import DexError

EXAMPLES = """
dex sync backlog
dex sync backlog --watch
dex sync backlog --fail-over 5m -o json
"""


def run(
    ctx: Ctx,
    *,
    store: Annotated[
        str | None, typer.Option("--store", metavar="ATTRIBUTE_STORE", help="Only of this Attribute Store.")
    ] = None,
    flow: Annotated[str | None, typer.Option("--flow", metavar="FLOW_ID", help="Only of this Flow.")] = None,
    limit: SyncLimit = 100,
    watch: Annotated[bool, typer.Option("--watch", help="Look again every second, until Ctrl-C.")] = False,
    fail_over: Annotated[
        str | None, typer.Option("--fail-over", metavar="AGE", help="Fail if the oldest entry is older, such as 5m.")
    ] = None,
) -> None:
    """Show what the stores have not been told of yet, the oldest first.

    --watch draws on a terminal and writes a line for each look elsewhere. With --fail-over the exit code is 1 when
    an entry has been pending for longer.
    """
    oldest = None if fail_over is None else parse_duration(fail_over)
    refuse_unknown(ctx.obj, store)
    command = SyncBacklog(store=store, flow_id=flow, limit=limit)
    if watch:
        from dex.cli.syncwatch import watch_backlog

        for found in watch_backlog(ctx.obj, command):
            _refuse_older(found, oldest)
        return
    found = ctx.obj.engine.execute(command)
    ctx.obj.out.result(found)
    _refuse_older(found, oldest)


def _refuse_older(backlog: Backlog, seconds: float | None) -> None:
    """Fail where the oldest entry is older than that.

    Raises:
        DexError: with its age.
    """
    if seconds is not None and backlog.oldest_age_seconds > seconds:
        raise DexError(
            f"the oldest of {backlog.total} pending entries is {backlog.oldest_age_seconds:.0f} s old",
            "see its last_error, and `dex sync check`",
            total=backlog.total,
            oldest_age_seconds=backlog.oldest_age_seconds,
        )
