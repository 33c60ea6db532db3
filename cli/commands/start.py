"""`dex` alone: what comes from a pipe, the shell on a terminal (spec: P-01)."""

import sys

from dex.cli.session import Ctx

EXAMPLES = """
echo "SHOW STATESTORES;" | dex
printf 'feed define f\\nfeed append f k v\\n' | dex
"""


def run(ctx: Ctx) -> int:
    """Open the shell, or carry out standard input: a batch of WCL, or lines as they are typed in the shell."""
    if sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty()):
        from dex.cli.shell.loop import Shell

        return Shell(ctx.obj).run()
    from dex.cli.shell.input import is_wcl_alone
    from dex.cli.values import read_text

    text = read_text("-")
    if is_wcl_alone(text):
        from dex.cli.batch import run_batch

        return run_batch(ctx.obj, ["-"], piped=text)
    from dex.cli.shell.loop import Shell

    return Shell(ctx.obj).run_lines("-", text)
