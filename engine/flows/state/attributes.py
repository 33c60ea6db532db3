"""Attributes: each value is written once, and one small row per attribute says which value is the latest.

An instance of an AttributeMap is an attribute of its own, so that a write costs the same however many there are. A
value's id rises with each write: it is the version that locks are guarded by.
"""

import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from dex.engine.flows.records import MAX_PER_COMMIT, Write
from dex.engine.postings import to_column

_LONGEST_SCALAR = 300


class Stored(NamedTuple):
    """A value in its stored form, with its version."""

    data: bytes
    version: int


class Change(NamedTuple):
    """What a commit did to an attribute: the version it wrote and the one it replaced; None is absent."""

    key: str
    new: int | None
    old: int | None


def load(connection: sqlite3.Connection, run: int, keys: Iterable[str]) -> dict[str, Stored]:
    """Give the values of those of `keys` that are set."""
    query = (
        "SELECT v.data, a.value_id FROM attributes a JOIN flow_values v ON v.id = a.value_id"
        " WHERE a.run = ? AND a.key = ?"
    )
    found = {}
    for key in keys:
        row = connection.execute(query, (run, key)).fetchone()
        if row is not None:
            found[key] = Stored(*row)
    return found


def load_all(connection: sqlite3.Connection, run: int, prefix: str = "") -> dict[str, Stored]:
    """Give all values whose key begins with a prefix, such as those of one map."""
    query = (
        "SELECT a.key, v.data, a.value_id FROM attributes a JOIN flow_values v ON v.id = a.value_id"
        " WHERE a.run = ? AND a.key >= ? AND a.key < ? ORDER BY a.key"
    )
    return {key: Stored(data, version) for key, data, version in connection.execute(query, (run, *_range(prefix)))}


def keys(connection: sqlite3.Connection, run: int, prefix: str = "") -> list[str]:
    """Give the keys that are set and begin with a prefix, in order."""
    query = "SELECT key FROM attributes WHERE run = ? AND key >= ? AND key < ? ORDER BY key"
    return [key for (key,) in connection.execute(query, (run, *_range(prefix)))]


def versions(connection: sqlite3.Connection, run: int, wanted: Iterable[str]) -> dict[str, int]:
    """Give the versions of those of `wanted` that are set."""
    query = "SELECT value_id FROM attributes WHERE run = ? AND key = ?"
    found = {}
    for key in wanted:
        row = connection.execute(query, (run, key)).fetchone()
        if row is not None:
            found[key] = row[0]
    return found


def write(
    connection: sqlite3.Connection, run: int, seq: int, writes: list[Write], known: Iterable[tuple[str, int]] = ()
) -> list[Change]:
    """Write values and deletions, and tell what changed; `known` are versions that need not be read, 0 for absent."""
    old: dict[str, int | None] = {key: version or None for key, version in known}
    unknown = [change.key for change in writes if change.key not in old]
    if unknown:
        old.update(versions(connection, run, unknown))
    changes = []
    for number, (key, value) in enumerate((change.key, change.data) for change in writes):
        if value is None:
            connection.execute("DELETE FROM attributes WHERE run = ? AND key = ?", (run, key))
            changes.append(Change(key, None, old.get(key)))
            continue
        version = seq * MAX_PER_COMMIT + number
        connection.execute("INSERT INTO flow_values (id, data) VALUES (?, ?)", (version, value))
        connection.execute(
            "INSERT INTO attributes (run, key, value_id, scalar) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (run, key) DO UPDATE SET value_id = excluded.value_id, scalar = excluded.scalar",
            (run, key, version, _scalar(value, key)),
        )
        changes.append(Change(key, version, old.get(key)))
    return changes


def data(connection: sqlite3.Connection, version: int) -> bytes | None:
    """Give a value by its version, None where it is gone."""
    row = connection.execute("SELECT data FROM flow_values WHERE id = ?", (version,)).fetchone()
    return None if row is None else row[0]


def _scalar(stored: bytes, key: str) -> str | int | float | bytes | None:
    """Give what a search compares with: the value of a plain attribute that is short and of a scalar type."""
    if "/" in key or len(stored) > _LONGEST_SCALAR:
        return None
    return scalar_of(msgspec.msgpack.decode(stored))


def scalar_of(value: Any) -> str | int | float | bytes | None:
    """Give what a search compares a value by, None where it is not of a scalar type."""
    if isinstance(value, float):
        return value
    return to_column(value) if isinstance(value, (str, int, bool, bytes)) else None


def erase(connection: sqlite3.Connection, versions_: Iterable[int]) -> None:
    """Delete values for good: nothing of them stays in the file's free pages."""
    connection.execute("PRAGMA secure_delete=ON")
    connection.executemany("DELETE FROM flow_values WHERE id = ?", [(version,) for version in versions_])


def _range(prefix: str) -> tuple[str, str]:
    return prefix, prefix + chr(0x10FFFF)
