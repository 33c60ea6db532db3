"""The smoke check of sync: the configuration, every store's tables, and what is pending. It writes nothing."""

from dex.cli.session import Session
from dex.cli.smoketarget import Mismatch, Target
from dex.cli.syncing import check_stores, refuse_wrong, sync_config
from dex.wcl.commands.sync import ShowSyncTotals


def check_sync(session: Session, target: Target) -> str:
    """Check what `dex sync check` checks, and count the backlog.

    Raises:
        DexError: the configuration or a store is wrong.
        Mismatch: no store is configured.
    """
    found = check_stores(sync_config(session))
    refuse_wrong(found)
    if not found:
        raise Mismatch("the configuration of sync has no store")
    pending = target.engine.execute(ShowSyncTotals()).pending
    return f"{len(found)} stores as they should be, {pending} entries pending"
