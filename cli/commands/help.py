"""`dex help` (spec: X-08)."""

from typing import Annotated

import typer

from dex.cli.session import Ctx, Host

EXAMPLES = """
dex help
dex help store put
"""


def run(
    ctx: Ctx,  # noqa: ARG001 - what every command gets
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND...", help="Words of the command.")] = None,
) -> int:
    """Show the help of a command, or of all.

    It is what the command shows for --help.
    """
    from dex.cli.app import run as run_line

    return run_line([*(command or []), "--help"], Host())
