"""`dex completion` (spec: X-06)."""

import os
from typing import Annotated

import typer

from dex.cli.completion.scripts import FILES, script
from dex.cli.session import Ctx
from dex.wcl.errors import InputError
from dex.wcl.names import did_you_mean

EXAMPLES = """
dex completion bash --install
source <(dex completion zsh)
"""


def run(
    ctx: Ctx,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")],
    install: Annotated[
        bool, typer.Option("--install", help="Write it where the shell finds it, with a line in its start-up file.")
    ] = False,
) -> None:
    """Print or install shell completion.

    Commands, options, and the names of stores, feeds and contexts complete as they are at that moment.
    """
    if shell not in FILES:
        raise InputError(
            f"{shell!r} is no shell known here", did_you_mean(shell, FILES) or f"one of {', '.join(FILES)}"
        )
    if not install:
        ctx.obj.out.raw(script(shell).encode())
        return
    from dex.cli.completion.install import install as write

    files = write(shell, os.environ)
    ctx.obj.out.result({"shell": shell, "files": [str(file) for file in files]})
    ctx.obj.note("completion works in shells that are started from now on")
