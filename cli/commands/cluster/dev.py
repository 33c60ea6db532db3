"""`dex cluster dev` (spec: K-09)."""

from dex.cli.session import Ctx
from dex.wcl.errors import DexError

EXAMPLES = """
dex cluster dev
dex cluster dev --data-dir ./cluster --flows orders.py
"""


def run(ctx: Ctx) -> None:
    """Start a cluster on this machine, to try one out.

    Three journal servers and three nodes run on loopback until Ctrl-C or SIGTERM; one that ends is started again. Their
    files are in a temporary directory that is deleted at the end, or in --data-dir and found again the next time. The
    nodes know the Flows of --flows, and the stores of --sync-config.
    """
    try:
        from dex.cli.clusterdev import run_cluster
    except ImportError as error:
        raise DexError(
            f"a cluster needs {error.name}, which is not installed", "install dex with its extra `cluster`"
        ) from error
    run_cluster(ctx.obj)
