"""The entry point of `dex`.

The version and completion requests are answered before anything heavy is imported.
"""

import sys


def main() -> int:
    """Run the command line of this process and give its exit code."""
    args = sys.argv[1:]
    if args == ["--version"]:
        from dex import __version__

        sys.stdout.write(f"dex {__version__}\n")
        return 0
    if args[:1] == ["__complete"]:
        from dex.cli.completion.answer import answer

        return answer(args[1:])
    from dex.cli.run import run_command

    return run_command(args)
