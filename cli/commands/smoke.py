"""`dex smoke` (spec: X-05)."""

import uuid
from functools import partial
from typing import Annotated

import typer

from dex.cli.exits import DONE, FAILED
from dex.cli.junit import Case, report_path, write_junit
from dex.cli.session import Ctx
from dex.cli.smoke import run_checks
from dex.cli.smokesync import check_sync

EXAMPLES = """
dex smoke
dex smoke -o json --report junit:smoke.xml
"""


def run(
    ctx: Ctx,
    report: Annotated[
        str | None, typer.Option("--report", metavar="junit:FILE", help="Also write a report for CI.")
    ] = None,
) -> int:
    """Check the target end to end.

    Stores, feeds and Flows of its own are made, tried and dropped. With a configuration of sync, its stores are
    checked as well, and nothing is written to them. The exit code is 1 if a check fails.
    """
    path = report_path(report)
    more = [("sync", partial(check_sync, ctx.obj))] if ctx.obj.settings["sync-config"] else []
    results = list(run_checks(ctx.obj.engine, uuid.uuid4().hex[:12], more))
    if path is not None:
        write_junit(
            path,
            "dex smoke",
            [Case("smoke", r.check, r.seconds, None if r.status == "ok" else r.detail) for r in results],
        )
    ctx.obj.out.result([result.as_dict() for result in results])
    return DONE if all(result.status == "ok" for result in results) else FAILED
