"""`dex shell` (spec: P-01)."""

from dex.cli.commands import start
from dex.cli.session import Ctx

EXAMPLES = """
dex shell --data-dir ./data
dex shell --yes
"""


def run(ctx: Ctx) -> int:
    """Open the shell, as dex alone does.

    From a pipe it runs as a batch. With --yes nothing is asked before data is destroyed.
    """
    return start.run(ctx)
