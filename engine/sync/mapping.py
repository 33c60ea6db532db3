"""What maps where: each column of a store's tables with what is written to it, for people (spec: Y-25)."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec

from dex.engine.sync.checking import StoreSchema
from dex.engine.sync.config import ColumnNaming, StoreConfig
from dex.engine.sync.contract import takes_values
from dex.engine.sync.table import Column


class MappedColumn(msgspec.Struct, kw_only=True):
    """A column, its type as it was declared, and where its values come from; the fencing table is told as a whole."""

    store: str
    database: str
    table: str
    column: str | None
    type: str | None
    source: str


class Synced(NamedTuple):
    """The names of the synced Attributes and AttributeMaps of the Flow definitions that are loaded."""

    attributes: AbstractSet[str]
    maps: AbstractSet[str]


def mapped_columns(store: StoreConfig, schema: StoreSchema, synced: Synced) -> Iterator[MappedColumn]:
    """Give every column of a store's tables. Where nothing synced is known, columns tell what they would take."""
    named: dict[str, list[str]] = {}
    for name in sorted(synced.attributes):
        named.setdefault(store.column_naming.column(name), []).append(name)
    key = _key_sources(store, schema)
    for column in schema.main.columns.values():
        source = key.get(column.name) or _nothing(column)
        yield _row(store, str(schema.main.name), source or _attribute_source(store, column, named), column)
    for name, table in schema.maps.items():
        sources = key | {store.attribute_maps[name].instance_key_column: f"key of each instance of {name}"}
        field = f"field of {name}" + ("" if _is_known(name, synced) else f", {_UNKNOWN}")
        for column in table.columns.values():
            yield _row(store, str(table.name), sources.get(column.name) or _nothing(column) or field, column)
    yield _row(store, str(schema.fencing.name), "fencing token")


_UNKNOWN = "which no loaded Flow syncs"


def _is_known(attribute_map: str, synced: Synced) -> bool:
    return attribute_map in synced.maps or not any(synced)


def _nothing(column: Column) -> str | None:
    """Tell why nothing is written to a column, if nothing ever is."""
    if column.generated:
        return "generated"
    return None if takes_values(column) else "nothing, as its type takes no Attribute"


def _key_sources(store: StoreConfig, schema: StoreSchema) -> dict[str, str]:
    if store.row_key is None:
        return dict.fromkeys(schema.main.key, "Flow ID")
    return {column: f"{{{column}}} of Flow ID {store.row_key.template}" for column in store.row_key.columns}


def _attribute_source(store: StoreConfig, column: Column, named: Mapping[str, list[str]]) -> str:
    if column.name in named:
        # Two names on one column are both left out when they come in one batch (spec: Y-09).
        return "Attribute " + " or ".join(named[column.name])
    known = f", {_UNKNOWN}" if named else ""
    if store.column_naming is ColumnNaming.EXACT:
        return f"Attribute {column.name}{known}"
    return f"Attribute whose {store.column_naming.value} form this is{known}"


def _row(store: StoreConfig, table: str, source: str, column: Column | None = None) -> MappedColumn:
    return MappedColumn(
        store=store.name,
        database=store.dsn.target,
        table=table,
        column=None if column is None else column.name,
        type=None if column is None else column.declared,
        source=source,
    )
