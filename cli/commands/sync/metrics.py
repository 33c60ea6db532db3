"""`dex sync metrics` (spec: Y-24)."""

from dex.cli.session import Ctx
from dex.wcl.commands.sync import ShowSyncTotals

EXAMPLES = """
dex sync metrics
dex sync metrics > /var/lib/node_exporter/dex.prom
"""


def run(ctx: Ctx) -> None:
    """Print the five metrics of sync in Prometheus' text format.

    The gauges are of this moment and the dropped entries are all that the data directory remembers. Failures and
    fenced writes are counted in the process that writes: they are described here, without a value.
    """
    from dex.engine.sync.metrics import as_seen_from_outside

    ctx.obj.out.raw(as_seen_from_outside(ctx.obj.engine.execute(ShowSyncTotals())).encode())
