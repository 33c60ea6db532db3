"""Materialising Feeds: each committed record becomes a row with the values that the extractors find (spec: F-02…F-06).

The rows are a function of the feed alone, whatever the size of the passes. A record that cannot be read
projects nulls, so that replay never stalls.
"""

import re
import sqlite3
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from dex.engine.catalog import Feed, Generation, Store
from dex.engine.postings import NULL, to_column
from dex.engine.stores.definitions import finish_rebuild
from dex.engine.stores.tables import RowSql, sql
from dex.wcl.commands import Json, Metadata, NamedKey
from dex.wcl.errors import InvalidCommand
from dex.wcl.values import check_value

_decode_metadata = msgspec.json.Decoder(dict[str, str]).decode
_PASS_ROWS = 64
_INDEX = re.compile("[0-9]{1,9}")


class Record(NamedTuple):
    """A committed feed record, as materialising reads it."""

    seq: int
    key: bytes
    metadata: dict[str, str]
    payload: bytes | None


def cursor(connection: sqlite3.Connection, generation: Generation) -> int:
    """Give the last feed position that a generation holds."""
    (position,) = connection.execute("SELECT cursor FROM progress WHERE table_name = ?", (generation.table,)).fetchone()
    return int(position)


def unique_conflicts(connection: sqlite3.Connection, generation: Generation) -> int:
    """Give how many rows were kept without a posting, because an earlier record had the unique value."""
    (count,) = connection.execute(
        "SELECT unique_conflicts FROM progress WHERE table_name = ?", (generation.table,)
    ).fetchone()
    return int(count)


def materialise(connection: sqlite3.Connection, store: Store, records: list[Record]) -> None:
    """Apply the records that follow the cursor to the generation that is being filled."""
    generation = store.filling
    statements = sql(store, generation)
    lost = sum(_apply(connection, store.keys, statements, record) for record in records)
    connection.execute(
        "UPDATE progress SET cursor = ?, unique_conflicts = unique_conflicts + ? WHERE table_name = ?",
        (records[-1].seq, lost, generation.table),
    )


def last_seq(connection: sqlite3.Connection, feed: Feed) -> int:
    """Give the position of a feed's last record, 0 where it has none."""
    return connection.execute(f"SELECT max(seq) FROM {feed.table}").fetchone()[0] or 0


def is_behind(connection: sqlite3.Connection, store: Store) -> bool:
    """Tell whether a store has work left: records to materialise, or a finished rebuild to show."""
    if store.feed is None or store.dropped:
        return False
    return store.next is not None or cursor(connection, store.live) < last_seq(connection, store.feed)


def applied_seq(connection: sqlite3.Connection, store: Store, feed: Feed) -> int | None:
    """Give the journal position up to which a feed-sourced store's rows are complete, None where that is the end."""
    missing = connection.execute(
        f"SELECT journal_seq FROM {feed.table} WHERE seq = ?", (cursor(connection, store.live) + 1,)
    ).fetchone()
    return None if missing is None else missing[0] - 1


def catch_up(connection: sqlite3.Connection, store: Store, feed: Feed, seconds: float) -> bool:
    """Materialise for about `seconds`, so that a put need not wait longer; tell whether more remains."""
    deadline = time.monotonic() + seconds
    position = cursor(connection, store.filling)
    while records := list(records_after(connection, feed, position, _PASS_ROWS)):
        materialise(connection, store, records)
        position = records[-1].seq
        if time.monotonic() >= deadline:
            return True
    if store.next is not None:
        finish_rebuild(connection, store)
    return False


def records_after(connection: sqlite3.Connection, feed: Feed, after: int, limit: int) -> Iterator[Record]:
    """Give up to `limit` records of a feed after a position, in feed order."""
    query = f"SELECT seq, key, metadata, payload FROM {feed.table} WHERE seq > ? ORDER BY seq LIMIT ?"
    for seq, key, metadata, payload in connection.execute(query, (after, limit)):
        yield Record(seq, key, _decode_metadata(metadata), payload)


def _apply(connection: sqlite3.Connection, keys: tuple[NamedKey, ...], statements: RowSql, record: Record) -> int:
    """Write or delete the record's row; give how many unique values it lost to earlier rows."""
    if record.payload is None:
        connection.execute(statements.delete, (record.key,))
        return 0
    columns = _project(keys, record, record.payload)
    lost = 0
    for i, holder_sql in enumerate(statements.holders):
        if holder_sql is not None and connection.execute(holder_sql, (columns[i], record.key)).fetchone():
            columns[i] = None
            lost += 1
    connection.execute(statements.put, (record.seq, record.key, record.payload, *columns))
    return lost


def _project(keys: tuple[NamedKey, ...], record: Record, payload: bytes) -> list[Any]:
    """Give one column value per key; what is missing or unusable is null (spec: F-04)."""
    document: Any = None
    if any(isinstance(key.extractor, Json) for key in keys):
        try:
            document = msgspec.json.decode(payload)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            document = None
    return [_column(_extract(key, record, document), key.name) for key in keys]


def _extract(key: NamedKey, record: Record, document: Any) -> Any:
    match key.extractor:
        case Metadata(name):
            return record.metadata.get(name)
        case Json(path):
            return _walk(document, path.split("."))
        case _:
            return _text_or_bytes(record.key)


def _walk(document: Any, path: list[str]) -> Any:
    """Follow a path through objects by name and arrays by index (spec: F-03)."""
    for step in path:
        if isinstance(document, dict):
            document = document.get(step)
        elif isinstance(document, list) and _INDEX.fullmatch(step) and int(step) < len(document):
            document = document[int(step)]
        else:
            return None
    return document


def _text_or_bytes(key: bytes) -> str | bytes:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key


def _column(value: Any, name: str) -> Any:
    try:
        check_value(value, name)
    except InvalidCommand:
        return NULL
    return to_column(value)
