"""Runs one command line from start to exit code, in this process or inside the shell."""

import os
import sys

from dex.cli.exits import conclude, style_of
from dex.cli.session import Host


def run_command(args: list[str], host: Host | None = None) -> int:
    """Run a command line, write its errors, and give its exit code."""
    host = host or Host()
    try:
        from dex.cli.app import run

        code = run(args, host)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the one place where every error ends
        return conclude(error, host.style or style_of(args, os.environ))
    return code
