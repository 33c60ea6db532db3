"""Fixtures of the sync tests: a real PostgreSQL, and destinations on it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dex.engine.flows.codec import encode
from dex.engine.sync.batch import Batch, Fence
from dex.engine.sync.config import InstanceTable, StoreConfig, SyncConfig
from dex.engine.sync.destination import Destination
from dex.engine.sync.dsn import Dsn
from dex.engine.sync.rowkey import RowKey
from dex.engine.sync.tablename import TableName, parse_table_name
from tests.postgres import Database, database, postgres

__all__ = ["database", "postgres"]

OpenStore = Callable[..., Destination]

FENCE = Fence("cluster-1", "0", 7)


def batch(flow_id: str = "f1", entries: dict[str, Any] | None = None, /, **more: Any) -> Batch:
    """Give a batch of values by key; None stands for a deleted entry."""
    values = (entries or {}) | more
    stored = {key: None if value is None else encode(value) for key, value in values.items()}
    return Batch("orders", flow_id, "run-1", stored)


def store_config(dsn: str, **fields: Any) -> StoreConfig:
    """Give a store named orders, with its table of the same name unless another is given; names come as text."""
    fields = {"name": "orders", "table": "orders"} | fields
    for name in ("table", "fencing_table"):
        if isinstance(fields.get(name), str):
            fields[name] = parse_table_name(fields[name])
    if isinstance(fields.get("row_key"), str):
        fields["row_key"] = RowKey(fields["row_key"])
    maps = fields.pop("maps", {})
    fields["attribute_maps"] = {
        name: InstanceTable(TableName(None, table), column) for name, (table, column) in maps.items()
    }
    return StoreConfig(dsn=Dsn(dsn), **fields)


@pytest.fixture
def open_store(database: Database) -> Iterator[OpenStore]:
    """Open a store on the test's database; `seconds` is the transaction timeout, the rest is for `store_config`."""
    opened: list[Destination] = []

    def open_(*, seconds: float = 10.0, **fields: Any) -> Destination:
        config = SyncConfig(attempt_timeout=seconds, lease_duration=4 * seconds)
        opened.append(Destination(store_config(fields.pop("dsn", database.dsn), **fields), config))
        opened[-1].open()
        return opened[-1]

    yield open_
    for destination in opened:
        destination.close()
