"""What maps where: each column of a store's tables with what is written to it, for people (spec: Y-25)."""

from collections.abc import Iterable, Iterator

import msgspec

from dex.engine.sync.checking import StoreSchema
from dex.engine.sync.config import ColumnNaming, StoreConfig
from dex.engine.sync.table import Column


class MappedColumn(msgspec.Struct, kw_only=True):
    """A column, its type as it was declared, and where its values come from; the fencing table is told as a whole."""

    store: str
    database: str
    table: str
    column: str | None
    type: str | None
    source: str


def mapped_columns(store: StoreConfig, schema: StoreSchema, attributes: Iterable[str]) -> Iterator[MappedColumn]:
    """Give every column of a store's tables; `attributes` are the names of the synced Attributes that are known."""
    named: dict[str, list[str]] = {}
    for name in sorted(attributes):
        named.setdefault(store.column_naming.column(name), []).append(name)
    key = _key_sources(store, schema)
    for column in schema.main.columns.values():
        source = key.get(column.name) or _attribute_source(store, column, named.get(column.name, []))
        yield _row(store, str(schema.main.name), source, column)
    for name, table in schema.maps.items():
        sources = key | {store.attribute_maps[name].instance_key_column: f"key of each instance of {name}"}
        for column in table.columns.values():
            source = sources.get(column.name) or ("generated" if column.generated else f"field of {name}")
            yield _row(store, str(table.name), source, column)
    yield _row(store, str(schema.fencing.name), "fencing token")


def _key_sources(store: StoreConfig, schema: StoreSchema) -> dict[str, str]:
    if store.row_key is None:
        return dict.fromkeys(schema.main.key, "Flow ID")
    return {column: f"{{{column}}} of Flow ID {store.row_key.template}" for column in store.row_key.columns}


def _attribute_source(store: StoreConfig, column: Column, names: list[str]) -> str:
    if column.generated:
        return "generated"
    if names:
        # Two names on one column are both left out when they come in one batch (spec: Y-09).
        return "Attribute " + " or ".join(names)
    if store.column_naming is ColumnNaming.EXACT:
        return f"Attribute {column.name}"
    return f"Attribute whose {store.column_naming.value} form this is"


def _row(store: StoreConfig, table: str, source: str, column: Column | None = None) -> MappedColumn:
    return MappedColumn(
        store=store.name,
        database=store.dsn.target,
        table=table,
        column=None if column is None else column.name,
        type=None if column is None else column.declared,
        source=source,
    )
