"""`dex batch` (spec: X-04)."""

import sys
from typing import Annotated

import typer

from dex.cli.batch import run_batch
from dex.cli.session import Ctx

EXAMPLES = """
dex batch schema.wcl more.wcl
dex batch 'migrations/*.wcl' --continue-on-error --report junit:wcl.xml
echo "SHOW STATESTORES;" | dex batch -
"""


def run(
    ctx: Ctx,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE...", help="Files, patterns, or - for standard input.")
    ] = None,
    continue_on_error: Annotated[
        bool, typer.Option("--continue-on-error", help="Run every statement; the exit code is the worst.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check every statement and run none.")] = False,
    report: Annotated[
        str | None, typer.Option("--report", metavar="junit:FILE", help="Also write a report for CI.")
    ] = None,
) -> int:
    """Run WCL files, one record for each statement.

    Nothing runs unless every statement can be read; the first statement that fails stops the rest.
    """
    if not files and sys.stdin.isatty():
        ctx.obj.note("reading statements from standard input; Ctrl-D ends them, and `dex batch FILE` reads a file")
    return run_batch(ctx.obj, files or ["-"], tolerant=continue_on_error, dry=dry_run, report=report)
