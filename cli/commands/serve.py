"""`dex serve` (spec: K-01)."""

from contextlib import nullcontext
from typing import Annotated

import typer

from dex.cli.session import Ctx
from dex.cli.syncing import open_sync
from dex.wcl.errors import DexError

EXAMPLES = """
dex serve
dex serve --port 8080 --flows orders.py
dex serve --sync-config sync.yaml
"""


def run(
    ctx: Ctx,
    host: Annotated[str, typer.Option("--host", metavar="H", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="P", help="Port to listen on; 0 is any.")] = 7171,
) -> None:
    """Serve the embedded engine over HTTP.

    Runs until Ctrl-C or SIGTERM; what was accepted is finished first. Steps of the Flow types that are loaded are
    worked here, and with --sync-config attributes are synced to their stores. Others use it with --endpoint.
    """
    session = ctx.obj
    engine = session.local
    try:
        from dex.engine.server.node import Address, serve
    except ImportError as error:
        raise DexError(
            f"serving needs {error.name}, which is not installed", "install dex with its extra `server`"
        ) from error
    with open_sync(session) if session.settings["sync-config"] else nullcontext() as sync:
        serve(engine, Address(host, port), sync=sync, ready=lambda url: session.note(f"serving {engine.path} on {url}"))
