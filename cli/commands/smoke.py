"""`dex smoke` (spec: X-05)."""

import time
import uuid
from functools import partial
from typing import Annotated

import typer

from dex.cli.deadline import Expired
from dex.cli.exits import DONE, FAILED
from dex.cli.junit import Case, report_path, write_junit
from dex.cli.session import Ctx
from dex.cli.smoke import Result, run_checks
from dex.cli.smokecluster import check_replication, is_cluster
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

    Stores, feeds and Flows of its own are made, tried and dropped, and nothing is left of them. With a configuration
    of sync, its stores are checked as well, and nothing is written to them; in a cluster, that every node has what any
    other writes. At a server with tokens it needs one of scope admin. The exit code is 1 if a check fails.
    """
    path = report_path(report)
    session = ctx.obj
    more = [("sync", partial(check_sync, session))] if session.settings["sync-config"] else []
    if is_cluster(session):
        more.append(("cluster", partial(check_replication, session)))
    results: list[Result] = []
    start = time.perf_counter()
    try:
        results.extend(run_checks(session.engine, uuid.uuid4().hex[:12], more))
    except Expired as error:
        spent = time.perf_counter() - start - sum(result.seconds for result in results)
        results.append(Result(error.during.removeprefix("check "), "failed", round(spent, 6), "timed out"))
        raise
    finally:
        if path is not None:
            write_junit(path, "dex smoke", map(_case, results))
        session.out.result([result.as_dict() for result in results])
    return DONE if all(result.status == "ok" for result in results) else FAILED


def _case(result: Result) -> Case:
    return Case("smoke", result.check, result.seconds, None if result.status == "ok" else result.detail)
