"""`dex sync check` (spec: Y-01, Y-06, Y-25)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dex.cli.session import Ctx, Session
from dex.cli.syncing import check_stores, refuse_wrong, sync_config
from dex.wcl.errors import DexError

if TYPE_CHECKING:
    from dex.engine.sync.checking import StoreSchema
    from dex.engine.sync.config import SyncConfig
    from dex.engine.sync.mapping import MappedColumn

EXAMPLES = """
dex sync check --sync-config samples/sync.yaml
dex sync check --sync-config sync.yaml --flows orders.py -o table
"""


def run(ctx: Ctx) -> None:
    """Check the configuration, connections and tables, and show what maps where.

    All faults are told, of every store, missing grants too, and nothing is written anywhere. With --flows, columns are
    shown with the Attributes of your Flow definitions.
    """
    session = ctx.obj
    session.refuse_server()
    config = sync_config(session)
    found = check_stores(config)
    session.out.result([*_mapped(session, config, found)])
    if not found:
        session.note("no store is configured")
    refuse_wrong(found)


def _mapped(
    session: Session, config: "SyncConfig", found: "dict[str, StoreSchema | DexError]"
) -> "Iterator[MappedColumn]":
    from dex.engine.sync.mapping import Synced, mapped_columns

    schemas = [known.schema for known in session.local.flows.parts.registry.types.values()]
    names = [(name, name in schema.attributes) for schema in schemas for name in schema.synced]
    synced = Synced({name for name, is_plain in names if is_plain}, {name for name, is_plain in names if not is_plain})
    for name, each in found.items():
        if not isinstance(each, DexError):
            yield from mapped_columns(config.stores[name], each, synced)
