"""Runs one command line from start to exit code, in this process or inside the shell."""

import gc
import os
import sys

from dex.cli.exits import conclude, style_of
from dex.cli.session import Host


def run_command(args: list[str], host: Host | None = None) -> int:
    """Run a command line, write its errors, and give its exit code."""
    host = host or Host()
    try:
        # What is imported stays until the end, so collecting garbage meanwhile finds none.
        gc.disable()
        from dex.cli.app import run

        gc.enable()
        code = run(args, host)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the one place where every error ends
        return _conclude(error, args, host)
    return code


def _conclude(error: BaseException, args: list[str], host: Host) -> int:
    """Hand over the output of what did succeed, then write the error."""
    try:
        sys.stdout.flush()
    except OSError as lost:
        error = lost if isinstance(lost, BrokenPipeError) else error
    return conclude(error, host.style or style_of(args, os.environ))
