"""Reading the configuration of sync from YAML: every fault at once, each with its path and line (spec: Y-01…Y-03)."""

import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dex.engine.sync.config import ColumnNaming, InstanceTable, StoreConfig, SyncConfig, SyncRetryPolicy
from dex.engine.sync.dsn import Dsn, dsn_variable, redact
from dex.engine.sync.rowkey import RowKey
from dex.engine.sync.storenames import read_config
from dex.engine.sync.tablename import TableName, parse_table_name
from dex.engine.yamlfile import Entry, Fault, compose, entries, is_mapping, is_null, unknown_keys
from dex.wcl.durations import parse_duration_or_zero
from dex.wcl.errors import InputError
from dex.wcl.names import did_you_mean

if TYPE_CHECKING:
    from yaml import Node

T = TypeVar("T")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?\.(inf|nan)", re.ASCII)


def load_config(path: str | Path, environ: Mapping[str, str] = os.environ) -> SyncConfig:
    """Read and check a configuration; a DSN that the file leaves empty comes from `environ`.

    Raises:
        InputError: naming every fault; the fact `faults` has them one by one. No message shows a DSN.
    """
    text = read_config(path)
    faults: list[Fault] = []
    root = compose(text, str(path))
    section = _Section("", {} if root is None else entries(root, "the file", faults), 1, faults)
    config = _read(section, environ)
    if faults:
        lines = [redact(f"{path}:{line}: {message}; {remedy}") for line, message, remedy in sorted(faults)]
        count = "" if len(lines) == 1 else f"{len(lines)} faults:\n"
        raise InputError(count + "\n".join(lines), faults=lines)
    return config


class _Section:
    """A mapping of the file: its values by key, with a fault for each that is not what it should be."""

    def __init__(self, path: str, found: dict[str, Entry], line: int, faults: list[Fault]) -> None:
        self._path = path
        self.found = found
        self._line = line
        self._faults = faults
        self._asked: set[str] = set()

    def section(self, key: str) -> "_Section":
        """Give the mapping under a key, empty where there is none."""
        self._asked.add(key)
        entry = self.found.get(key)
        if entry is None:
            return _Section(self._at(key), {}, self._line, self._faults)
        found = entries(entry.node, self._at(key), self._faults)
        return _Section(self._at(key), found, entry.line, self._faults)

    def sections(self) -> dict[str, "_Section"]:
        """Give the mappings under every key, whose names are people's own; what is no mapping is a fault alone."""
        found = {key: self.section(key) for key in self.found}
        return {key: section for key, section in found.items() if is_mapping(self.found[key].node)}

    def value(self, key: str, parse: Callable[[str], T], default: T) -> T:
        """Give a key's value as `parse` reads it; the default where it is left out or wrong."""
        self._asked.add(key)
        entry = self.found.get(key)
        if entry is None or is_null(entry.node):
            return default
        try:
            return parse(_scalar(entry.node))
        except InputError as error:
            self.fault(key, error.message, error.remedy)
            return default

    def required(self, key: str, parse: Callable[[str], T]) -> T | None:
        """Give a value that may not be left out, None where it is or is wrong."""
        entry = self.found.get(key)
        if entry is not None and entry.node.value and not is_null(entry.node):
            return self.value(key, parse, None)
        self._asked.add(key)
        self.fault(key, "is missing", f"write {key} here")
        return None

    def fault(self, key: str, message: str, remedy: str) -> None:
        """Note what is wrong with the value of a key."""
        line = self.found[key].line if key in self.found else self._line
        self._faults.append(Fault(line, f"{self._at(key)}: {message}", remedy))

    def done(self) -> None:
        """Note the keys that nobody asked for."""
        for key, (_, message, remedy) in unknown_keys(self.found, self._asked).items():
            self.fault(key, message, remedy)

    def _at(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key


def _read(root: _Section, environ: Mapping[str, str]) -> SyncConfig:
    section, lease, cluster = root.section("attributeStore"), root.section("lease"), root.section("cluster")
    stores = section.section("stores").sections()
    defaults = SyncConfig()
    config = SyncConfig(
        stores={name: store for name, each in stores.items() if (store := _store(name, each, environ)) is not None},
        schema_sync_interval=_duration(section, "schemaSyncInterval", defaults.schema_sync_interval),
        batch_size=_count(section, "syncBatchSize", defaults.batch_size),
        attempt_timeout=_duration(section, "syncAttemptTimeout", defaults.attempt_timeout),
        retry=_retry_policy(section.section("syncRetryPolicy")),
        lease_duration=_duration(lease, "duration", defaults.lease_duration),
        cluster_id=cluster.value("id", _cluster_id, "") or None,
    )
    for each in (root, section, lease, cluster):
        each.done()
    return config


def _retry_policy(section: _Section) -> SyncRetryPolicy:
    defaults = SyncRetryPolicy()
    policy = SyncRetryPolicy(
        initial_interval=_duration(section, "initialInterval", defaults.initial_interval),
        backoff_coefficient=section.value("backoffCoefficient", _coefficient, 0.0) or defaults.backoff_coefficient,
        maximum_interval=_duration(section, "maximumInterval", defaults.maximum_interval),
        maximum_attempts=_count(section, "maximumAttempts", defaults.maximum_attempts),
        total_duration=_duration(section, "totalDuration", defaults.total_duration),
    )
    if policy.maximum_interval < policy.initial_interval:
        key = "maximumInterval" if "maximumInterval" in section.found else "initialInterval"
        section.fault(key, "maximumInterval is less than initialInterval", "raise maximumInterval")
    section.done()
    return policy


def _store(name: str, section: _Section, environ: Mapping[str, str]) -> StoreConfig | None:
    section.required("type", _type)
    dsn = _dsn(name, section, environ)
    table = section.required("tableName", parse_table_name)
    row_key = section.value("rowKey", lambda text: RowKey(text) if text else None, None)
    naming = section.value("columnNaming", _naming, ColumnNaming.EXACT)
    maps = _attribute_maps(section.section("attributeMaps"), row_key, table)
    default = StoreConfig.__struct_defaults__[-1]
    fencing = section.value("fencingTableName", lambda text: parse_table_name(text) if text else default, default)
    section.done()
    if dsn is None or table is None:
        return None
    return StoreConfig(
        name=name,
        dsn=dsn,
        table=table,
        row_key=row_key,
        column_naming=naming,
        attribute_maps=maps,
        fencing_table=fencing,
    )


def _dsn(store: str, section: _Section, environ: Mapping[str, str]) -> Dsn | None:
    variable = dsn_variable(store)
    written = section.value("dsn", str, "")
    text = written or environ.get(variable, "")
    if not text:
        section.fault("dsn", "the store has no DSN", f"write one here or set {variable}")
        return None
    try:
        return Dsn(text)
    except InputError as error:
        section.fault("dsn", error.message if written else f"{variable}: {error.message}", error.remedy)
        return None


def _attribute_maps(
    section: _Section, row_key: RowKey | None, store_table: TableName | None
) -> dict[str, InstanceTable]:
    maps: dict[str, InstanceTable] = {}
    taken = {store_table: "the store itself"}
    for name, each in section.sections().items():
        table = each.required("tableName", parse_table_name)
        column = each.required("instanceKeyColumn", str)
        each.done()
        if row_key is not None and column in row_key.columns:
            each.fault("instanceKeyColumn", f"{column!r} is a column of the row key", "name a column of its own")
        if table is not None and table in taken:
            # Two maps would overwrite and delete each other's rows where their instances share a key.
            each.fault("tableName", f"{table} is the table of {taken[table]}", "give each AttributeMap its own table")
        taken[table] = f"AttributeMap {name}"
        if table is not None and column is not None:
            maps[name] = InstanceTable(table, column)
    return maps


def _duration(section: _Section, key: str, default: float) -> float:
    return section.value(key, parse_duration_or_zero, 0.0) or default


def _count(section: _Section, key: str, default: int) -> int:
    return section.value(key, _whole_number, 0) or default


def _scalar(node: "Node") -> str:
    if not isinstance(node.value, str):
        raise InputError("must be a single value", "write `key: value`")
    return node.value


def _type(text: str) -> str:
    if text != "postgres":
        raise InputError(f"{text!r} is not a type of store", "write `type: postgres`, the only one")
    return text


def _cluster_id(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        # Databases of other character sets could not store it.
        raise InputError(f"{text!r} is not an ASCII text", "write letters and digits such as shop-1")
    return text


def _naming(text: str) -> ColumnNaming:
    try:
        return ColumnNaming(text)
    except ValueError:
        known = [naming.value for naming in ColumnNaming if naming.value]
        remedy = did_you_mean(text, known) or "write snake_case, or leave it out for exact names"
        raise InputError(f"{text!r} is not a column naming", remedy) from None


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f"{text!r} is not a whole number of zero or more", "write one such as 100")
    return int(text)


def _coefficient(text: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise InputError(f"{text!r} is not a number", "write one such as 2.0")
    number = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    if not math.isfinite(number) or number < 0:
        raise InputError(f"{text} is not positive and finite", "write one such as 2.0")
    return number
