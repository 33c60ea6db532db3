"""`dex sync stores` (spec: Y-25)."""

from typing import Any

from dex.cli.session import Ctx
from dex.cli.syncing import sync_config
from dex.wcl.commands.sync import ShowSyncTotals, SyncBacklog

EXAMPLES = """
dex sync stores --sync-config sync.yaml
dex sync stores --sync-config sync.yaml -o table
"""


def run(ctx: Ctx) -> None:
    """List the configured stores, with how much is pending for each.

    Nothing is connected to; `dex sync check` does that. A database is shown as host, port and name.
    """
    session = ctx.obj
    config = sync_config(session)
    rows: list[dict[str, Any]] = []
    for name, store in config.stores.items():
        pending = session.engine.execute(SyncBacklog(store=name, limit=1))
        rows.append(
            {
                "store": name,
                "table": str(store.table),
                "database": store.dsn.target,
                "pending": pending.total,
                "oldest_age_seconds": pending.oldest_age_seconds,
                "last_error": pending.entries[0].last_error if pending.entries else None,
            }
        )
    session.out.result(rows)
    orphans = session.engine.execute(ShowSyncTotals()).pending - sum(row["pending"] for row in rows)
    if orphans > 0:
        session.note(f"{orphans} entries are pending for stores that are not configured; `dex sync run` drops them")
