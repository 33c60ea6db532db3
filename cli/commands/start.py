"""`dex` alone: a batch from a pipe, the shell on a terminal (spec: P-01)."""

import sys

from dex.cli.session import Ctx

EXAMPLES = """
echo "SHOW STATESTORES;" | dex
"""


def run(ctx: Ctx) -> int:
    """Open the shell, or run a batch from standard input."""
    if sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty()):
        from dex.cli.shell.loop import Shell

        return Shell(ctx.obj).run()
    from dex.cli.batch import run_batch

    return run_batch(ctx.obj, ["-"])
