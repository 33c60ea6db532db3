"""The entry point of `dex`.

The version and completion requests are answered before anything heavy is imported, and nothing here imports typing.
"""

import os
import sys


def main() -> None:
    """Run the command line of this process and end the process with its exit code.

    Everything is closed and flushed by then, so the interpreter does not take itself apart first: that would cost
    a short command a tenth of its time.
    """
    code = answer(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def answer(args: list[str]) -> int:
    """Carry out a command line and give its exit code."""
    if args == ["--version"]:
        from dex import __version__

        sys.stdout.write(f"dex {__version__}\n")
        return 0
    if args[:1] == ["__complete"]:
        from dex.cli.completion.answer import complete

        return complete(args[1:])
    from dex.cli.run import run_command

    return run_command(args)
