"""From a batch to the rows that are written: which column takes which value, and what is left out and why.

Every field is judged by itself: one that does not fit is filtered, and the others are written. Planning changes and
logs nothing, so that a batch can be planned again once the tables have been read anew (spec: Y-11…Y-15, Y-23).
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from dex.engine.flows.codec import decode
from dex.engine.flows.keys import split
from dex.engine.sync.batch import Batch
from dex.engine.sync.checking import StoreSchema
from dex.engine.sync.config import StoreConfig
from dex.engine.sync.contract import Unfit, convert
from dex.engine.sync.table import TableSchema
from dex.wcl.errors import ValueMappingError

VALUE_COLUMN = "value"

Texts = dict[str, str | None]


class Row(NamedTuple):
    """One statement: a row to upsert, or to delete. `key` and `values` are texts by column.

    `entries` are the keys that it writes. A `whole` row returns every other column to its default.
    """

    table: TableSchema
    entries: tuple[str, ...]
    key: Texts
    values: Texts
    whole: bool = False
    delete: bool = False


class MissingColumn(NamedTuple):
    """A column that a batch needs and a table lacks; `attribute_map` is None for the store's own table."""

    attribute_map: str | None
    column: str


class Remarked(Enum):
    """What a remark is about."""

    BATCH = "batch"
    FIELD = "field"
    UNKNOWN_FIELD = "unknown field"


class Remark(NamedTuple):
    """Something that was left out, and why; `key` and `column` are empty for a whole batch."""

    about: Remarked
    key: str
    column: str
    problem: str


class Plan(NamedTuple):
    """The rows of a batch: one for all plain Attributes, then one for each instance.

    `filtered` are the entries that no row writes, since nothing of them fits.
    """

    schema: StoreSchema
    rows: list[Row]
    filtered: tuple[str, ...]
    missing: set[MissingColumn]
    remarks: list[Remark]


def plan(store: StoreConfig, batch: Batch, schema: StoreSchema) -> Plan:
    """Give the rows that a batch writes. Without a row key that fits it writes none, since no retry changes that."""
    return _Planning(store, batch, schema).plan()


class _Planning:
    """The planning of one batch."""

    def __init__(self, store: StoreConfig, batch: Batch, schema: StoreSchema) -> None:
        self._store = store
        self._batch = batch
        self._schema = schema
        self._column = store.column_naming.column
        self._missing: set[MissingColumn] = set()
        self._remarks: list[Remark] = []

    def plan(self) -> Plan:
        rows = self._rows()
        written = {key for row in rows for key in row.entries}
        filtered = tuple(key for key in self._batch.entries if key not in written)
        return Plan(self._schema, rows, filtered, self._missing, self._remarks)

    def _rows(self) -> list[Row]:
        captured = self._captured()
        try:
            key = _key(self._schema.main, captured)
        except Unfit as unfit:
            self._remark(Remarked.BATCH, "", "", str(unfit))
            return []
        plain: dict[str, bytes | None] = {}
        instances: list[tuple[str, str, str]] = []
        for entry, data in self._batch.entries.items():
            name, instance = split(entry)
            if instance is not None and name in self._schema.maps:
                instances.append((entry, name, instance))
            else:
                plain[entry] = data
        main = self._main_row(key, plain)
        # In one order for every batch, so that two transactions on the same rows do not wait for each other.
        rows = [self._instance_row(captured or {}, *each) for each in sorted(instances)]
        return [row for row in (main, *rows) if row is not None]

    def _captured(self) -> dict[str, str] | None:
        row_key = self._store.row_key
        if row_key is None:
            return {self._schema.main.key[0]: self._batch.flow_id}
        return row_key.split(self._batch.flow_id)

    def _main_row(self, key: Texts, plain: Mapping[str, bytes | None]) -> Row | None:
        table = self._schema.main
        columns = {entry: self._column(entry) for entry in plain}
        names = Counter(columns.values())
        values: Texts = {}
        written = []
        for entry, column in columns.items():
            try:
                _check_alone(names[column], "Attributes")
                values[column] = self._plain_value(table, entry, column, plain[entry])
                written.append(entry)
            except Unfit as unfit:
                self._remark(Remarked.FIELD, entry, column, str(unfit))
        return Row(table, tuple(written), key, values) if written else None

    def _plain_value(self, table: TableSchema, entry: str, column: str, data: bytes | None) -> str | None:
        if column in table.key:
            raise Unfit("a key column, which holds the Flow ID")
        if column not in table.columns:
            name, instance = split(entry)
            # Instances without end would each ask for a column of their own: their map stands for all of them.
            self._missing.add(MissingColumn(None, column if instance is None else self._column(f"{name}/")))
            raise Unfit("the table has no such column")
        return convert(_decoded(data), table.columns[column])

    def _instance_row(self, captured: dict[str, str], entry: str, name: str, instance: str) -> Row | None:
        table = self._schema.maps[name]
        key_column = self._store.attribute_maps[name].instance_key_column
        try:
            key = _key(table, captured | {key_column: instance})
        except Unfit as unfit:
            self._remark(Remarked.FIELD, entry, key_column, str(unfit))
            return None
        data = self._batch.entries[entry]
        if data is None:
            return Row(table, (entry,), key, {}, delete=True)
        return Row(table, (entry,), key, self._instance_values(name, entry, key, data), whole=True)

    def _instance_values(self, name: str, entry: str, key: Texts, data: bytes) -> Texts:
        table = self._schema.maps[name]
        values: Texts = {}
        for column, found in self._fields(entry, data).items():
            if column not in table.columns:
                self._missing.add(MissingColumn(name, column))
                self._remark(Remarked.UNKNOWN_FIELD, entry, column, "the table has no such column")
                continue
            try:
                if column in key:
                    _check_key_field(found, key[column])
                else:
                    _check_alone(len(found), "fields")
                    values[column] = convert(found[0], table.columns[column], from_json=True)
            except Unfit as unfit:
                self._remark(Remarked.FIELD, entry, column, str(unfit))
        return values

    def _fields(self, entry: str, data: bytes) -> dict[str, list[Any]]:
        """Give the values of an instance by column; those that share one stay together."""
        try:
            value = _decoded(data)
        except Unfit as unfit:
            self._remark(Remarked.FIELD, entry, VALUE_COLUMN, str(unfit))
            return {}
        if type(value) is not dict:
            return {VALUE_COLUMN: [value]}
        fields: dict[str, list[Any]] = {}
        for name, field in value.items():
            fields.setdefault(self._column(str(name)), []).append(field)
        return fields

    def _remark(self, about: Remarked, key: str, column: str, problem: str) -> None:
        self._remarks.append(Remark(about, key, column, problem))


def _decoded(data: bytes | None) -> Any:
    try:
        return None if data is None else decode(data)
    except (ValueMappingError, msgspec.DecodeError, RecursionError):
        raise Unfit("the stored value cannot be read") from None


def _key(table: TableSchema, captured: dict[str, str] | None) -> Texts:
    """Give key columns as texts; a key that its column would cut or pad is unfit, as two keys could become one."""
    if captured is None:
        raise Unfit("the Flow ID does not match the rowKey")
    key: Texts = {}
    for column, text in captured.items():
        try:
            key[column] = convert(text, table.columns[column])
        except Unfit as unfit:
            raise Unfit(f"the key column {column} cannot hold the key: {unfit}") from None
        if table.columns[column].type == "bpchar" and text.endswith(" "):
            raise Unfit(f"the key column {column} would lose the spaces at the end of the key")
    return key


def _check_key_field(found: list[Any], key: str | None) -> None:
    if found != [key]:
        raise Unfit("a key column, and the value differs from the key")


def _check_alone(names: int, what: str) -> None:
    if names > 1:
        raise Unfit(f"{names} {what} share the column")
