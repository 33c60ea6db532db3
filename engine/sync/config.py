"""What the configuration of sync says, with its defaults (spec: Y-01, Y-02). Durations are in seconds."""

from enum import Enum

import msgspec

from dex.engine.sync.dsn import Dsn
from dex.engine.sync.naming import snake_case
from dex.engine.sync.rowkey import RowKey
from dex.engine.sync.tablename import TableName

DEFAULT_FENCING_TABLE = "dexzd_attribute_sync_fencing"


class ColumnNaming(Enum):
    """How an Attribute's name becomes the name of its column."""

    EXACT = ""
    SNAKE_CASE = "snake_case"

    def column(self, name: str) -> str:
        """Give the column of an Attribute or field."""
        return snake_case(name) if self is ColumnNaming.SNAKE_CASE else name


class InstanceTable(msgspec.Struct, frozen=True):
    """Where the instances of one AttributeMap are written (spec: Y-10)."""

    table: TableName
    instance_key_column: str


class StoreConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One Attribute Store: a PostgreSQL destination."""

    name: str
    dsn: Dsn
    table: TableName
    row_key: RowKey | None = None
    column_naming: ColumnNaming = ColumnNaming.EXACT
    attribute_maps: dict[str, InstanceTable] = {}
    fencing_table: TableName = TableName(None, DEFAULT_FENCING_TABLE)


class SyncRetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How failed writes are tried again. `maximum_attempts` 0 is unlimited (spec: Y-19)."""

    initial_interval: float = 0.1
    backoff_coefficient: float = 2.0
    maximum_interval: float = 30.0
    maximum_attempts: int = 0
    total_duration: float = 3600.0


class SyncConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration of sync. `cluster_id` None is the one that the data directory was given."""

    stores: dict[str, StoreConfig] = {}
    schema_sync_interval: float = 60.0
    batch_size: int = 100
    attempt_timeout: float = 30.0
    retry: SyncRetryPolicy = SyncRetryPolicy()
    lease_duration: float = 10.0
    cluster_id: str | None = None

    @property
    def margin(self) -> float:
        """The lease that must be left beyond a write's own time, a quarter of the lease (spec: Y-17)."""
        return self.lease_duration / 4

    @property
    def transaction_timeout(self) -> float:
        """How long a write transaction may last (spec: Y-17)."""
        return min(self.attempt_timeout, self.margin)
