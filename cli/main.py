"""The entry point of `dex`.

The version and completion requests are answered before anything heavy is imported, and nothing here imports typing.
"""

import os
import sys

from dex.cli import interrupts


def main() -> None:
    """Run the command line of this process and end the process with its exit code.

    Everything is closed and flushed by then, so the interpreter does not take itself apart first: that would cost
    a short command a tenth of its time.
    """
    interrupts.install()
    _open_streams()
    code = answer(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _open_streams() -> None:
    """Put something in place of standard streams that are closed, before the numbers they had go to other files.

    Input is empty then and messages are lost, but a result that cannot be written is an error: its place cannot either.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def answer(args: list[str]) -> int:
    """Carry out a command line and give its exit code."""
    if args == ["--version"] or args[:1] == ["__complete"]:
        try:
            code = _answer_at_once(args)
            sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001 - handed to where every error ends
            from dex.cli.exits import conclude, style_of

            return conclude(error, style_of(args, os.environ))
        return code
    from dex.cli.run import run_command

    return run_command(args)


def _answer_at_once(args: list[str]) -> int:
    if args[0] == "__complete":
        from dex.cli.completion.answer import complete

        return complete(args[1:])
    from dex import __version__

    sys.stdout.write(f"dex {__version__}\n")
    return 0
