"""`dex` alone: a batch from a pipe, the shell on a terminal (spec: P-01)."""

import sys

from dex.cli.session import Ctx

EXAMPLES = """
echo "SHOW STATESTORES;" | dex
"""


def run(ctx: Ctx) -> int:
    """Run a batch from standard input."""
    if sys.stdin.isatty():
        from dex.wcl.errors import InputError

        raise InputError("a command is missing", "see `dex --help`")
    from dex.cli.batch import run_batch

    return run_batch(ctx.obj, ["-"])
