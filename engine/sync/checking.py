"""The contract of tables, checked at start-up and at every refresh (spec: Y-06, Y-07, Y-10, Y-16)."""

from collections.abc import Sequence

import msgspec

from dex.engine.sync.config import DEFAULT_FENCING_TABLE, StoreConfig
from dex.engine.sync.table import CHARACTER_TYPES, TableSchema
from dex.engine.sync.tablename import TableName
from dex.wcl.errors import FailedPrecondition

_FENCING_KEY = ("store_name", "cluster_id", "scope")
_NEED_NO_QUOTES = frozenset({DEFAULT_FENCING_TABLE, "public"})
_FENCING_TYPES = {
    **dict.fromkeys(_FENCING_KEY, ("text", "varchar")),
    "fencing_token": ("int8",),
    "updated_at": ("timestamptz",),
}


class StoreSchema(msgspec.Struct, frozen=True):
    """The tables of one store as they were read: its own, its instance tables by AttributeMap, the fencing table."""

    main: TableSchema
    maps: dict[str, TableSchema]
    fencing: TableSchema


def table_names(store: StoreConfig) -> list[TableName]:
    """Give the tables that a store writes, in the order in which `check` takes them."""
    return [store.table, store.fencing_table, *(each.table for each in store.attribute_maps.values())]


def check(store: StoreConfig, tables: Sequence[TableSchema | None]) -> StoreSchema:
    """Give a store's schema from the tables that `table_names` named.

    Raises:
        FailedPrecondition: a table is missing or breaks the contract; names every fault with table and columns.
    """
    main, fencing, *instances = tables
    problems = [*_main_problems(store, main), *_fencing_problems(store, fencing)]
    for (name, each), table in zip(store.attribute_maps.items(), instances, strict=True):
        key = _main_key(store, main)
        expected = None if key is None else (*key, each.instance_key_column)
        problems += _instance_problems(f"AttributeMap {name}", each.table, table, expected)
    if problems:
        faults = [f"store {store.name}: {problem}" for problem in problems]
        text = f"store {store.name}: {'; '.join(problems)}"
        raise FailedPrecondition(
            text, "correct the tables or the configuration, then start again", store=store.name, faults=faults
        )
    if main is None or fencing is None:
        raise AssertionError("a missing table is a problem")
    found = dict(zip(store.attribute_maps, instances, strict=True))
    return StoreSchema(main, {name: table for name, table in found.items() if table is not None}, fencing)


def fencing_table_sql(name: TableName) -> str:
    """Give the statement that creates the fencing table, which only people run (spec: Y-16)."""
    return (
        f"CREATE TABLE {_quoted(name)} (\n"
        "  store_name text NOT NULL,\n"
        "  cluster_id text NOT NULL,\n"
        "  scope text NOT NULL,\n"
        "  fencing_token bigint NOT NULL,\n"
        "  updated_at timestamptz NOT NULL,\n"
        "  PRIMARY KEY (store_name, cluster_id, scope)\n"
        ");"
    )


def _quoted(name: TableName) -> str:
    parts = [part for part in name if part is not None]
    return ".".join(part if part in _NEED_NO_QUOTES else '"' + part.replace('"', '""') + '"' for part in parts)


def _main_key(store: StoreConfig, table: TableSchema | None) -> tuple[str, ...] | None:
    if store.row_key is not None:
        return store.row_key.columns
    return None if table is None or len(table.key) != 1 else table.key


def _main_problems(store: StoreConfig, table: TableSchema | None) -> list[str]:
    if table is None:
        return [_missing(store.table)]
    if store.row_key is not None:
        return _table_problems(table, store.row_key.columns, f"rowKey names ({', '.join(store.row_key.columns)})")
    if len(table.key) == 1:
        return _table_problems(table, table.key, "")
    return [f"{_described(table)}, and without rowKey it must have exactly one key column, a character column"]


def _instance_problems(
    what: str, name: TableName, table: TableSchema | None, expected: tuple[str, ...] | None
) -> list[str]:
    if table is None:
        return [f"{what}: {_missing(name)}"]
    if expected is None:
        return []
    need = f"the store's key columns and instanceKeyColumn are ({', '.join(expected)})"
    return [f"{what}: {problem}" for problem in _table_problems(table, expected, need)]


def _table_problems(table: TableSchema, key: tuple[str, ...], need: str) -> list[str]:
    """Tell how a table's key is not exactly the columns `key`, all of characters, or a partial insert would fail."""
    if set(table.key) != set(key):
        return [f"{_described(table)}, and {need}"]
    problems = [
        f"the key column {column} of {table.name} is {table.columns[column].declared}, and a character type is needed"
        for column in key
        if table.columns[column].type not in CHARACTER_TYPES
    ]
    problems += [
        f"the key column {column} of {table.name} is generated" for column in key if table.columns[column].generated
    ]
    if table.key_deferrable:
        problems.append(f"the primary key of {table.name} is deferrable, which ON CONFLICT cannot use")
    required = [name for name, column in table.columns.items() if column.required and name not in key]
    if required:
        names = ", ".join(required)
        problems.append(f"{table.name} requires a value for {names}, which must have a default or allow null")
    return problems


def _fencing_problems(store: StoreConfig, table: TableSchema | None) -> list[str]:
    remedy = f"create it as its owner:\n{fencing_table_sql(store.fencing_table)}\n"
    if table is None:
        return [f"the fencing table {store.fencing_table} is missing; {remedy}"]
    lacking = [column for column in _FENCING_TYPES if column not in table.columns]
    if lacking:
        return [f"the fencing table {table.name} has no column {', '.join(lacking)}; {remedy}"]
    if set(table.key) != set(_FENCING_KEY) or table.key_deferrable:
        return [f"{_described(table)}, and the fencing table needs ({', '.join(_FENCING_KEY)}); {remedy}"]
    # Tokens of text would be compared by their first digits.
    unfit = [column for column, types in _FENCING_TYPES.items() if table.columns[column].type not in types]
    required = [name for name, column in table.columns.items() if column.required and name not in _FENCING_TYPES]
    if unfit or required:
        names = ", ".join(unfit + required)
        return [f"the fencing table {table.name} cannot be used because of its columns {names}; {remedy}"]
    try:
        store.name.encode(table.columns["store_name"].encoding or "utf-8")
    except UnicodeEncodeError:
        return ["its name has characters that the character set of the database does not have"]
    return []


def _missing(name: TableName) -> str:
    return f"the table {name} does not exist (names are taken as they are written)"


def _described(table: TableSchema) -> str:
    columns = f"(columns: {', '.join(table.columns)})"
    if not table.key:
        return f"the {table.kind} {table.name} has no primary key {columns}"
    return f"the {table.kind} {table.name} has the primary key ({', '.join(table.key)}) {columns}"
