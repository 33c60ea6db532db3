"""Rows of a store as cells of CSV, and back, with nothing lost (spec: X-02).

The columns are `key`, `payload` and `named.K` for each declared key K. A cell is text as it is. What is not text, and
text that begins with `:=`, is `:=` and JSON, as on the command line: `:=3`, `:=true`, `:=null`, `:={"bytes": "/w=="}`.
An empty cell is an empty payload, or a named value that is not set; a named value that is the empty text is `:=""`.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from dex.cli.values import typed
from dex.wcl.commands import StoreRow
from dex.wcl.errors import InputError
from dex.wcl.values import blob_to_json, value_to_json

NAMED = "named."
_TYPED = ":="


def columns_for(keys: Iterable[str]) -> list[str]:
    """Give the columns of a store with these named keys."""
    return ["key", "payload", *(NAMED + key for key in keys)]


def to_cells(row: StoreRow) -> dict[str, str]:
    """Give a row's cells by column; a named value that is not set has none."""
    cells = {"key": _cell(blob_to_json(row.key)), "payload": _cell(blob_to_json(row.payload)) if row.payload else ""}
    cells.update({NAMED + key: _cell(value_to_json(value)) for key, value in row.named.items()})
    return cells


def from_cell(cell: str) -> Any:
    """Read a cell: text, or a typed value after `:=`.

    Raises:
        InputError: what follows `:=` is not JSON.
    """
    return typed(cell.removeprefix(_TYPED), cell) if cell.startswith(_TYPED) else cell


def key_in(column: str) -> str | None:
    """Give the named key that a column holds, None for another column."""
    return column.removeprefix(NAMED) if column.startswith(NAMED) and column != NAMED else None


def blob_from_cell(cell: str) -> bytes:
    """Read a key or payload.

    Raises:
        InputError: the cell holds neither text nor bytes.
    """
    value = from_cell(cell)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise InputError(f"{cell!r} is neither text nor bytes", 'write text, or := with "text" or {"bytes": "<base64>"}')


def _cell(data: Any) -> str:
    if isinstance(data, str) and data and not data.startswith(_TYPED):
        return data
    return _TYPED + msgspec.json.encode(data).decode()
