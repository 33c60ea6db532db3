"""CSV that keeps types apart (spec: X-02).

Null is an empty cell and the empty text is `""`. Numbers and booleans are bare; text is quoted where it would
read as one of these or break the row. Lists, and bytes that are not UTF-8, are JSON in quotes. The rows of a store
have cells of their own (dex.cli.rowcells), which import reads back.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dex.cli.render.rows import MISSING, columns_of, flatten, rows_of

_BARE = re.compile(r"(?!\s)[^\",\r\n\0]*(?<!\s)")
_LOOKS_TYPED = re.compile(r"[-+]?\d|true$|false$|null$|[{\[]")


def csv_document(data: Any) -> bytes:
    """Give a whole result as CSV: a header and a line for each row."""
    rows = rows_of(data)
    if rows is None:
        rows = [flatten(data)]
    columns = columns_of(rows)
    return csv_header(columns) + csv_rows([[row.get(name) for name in columns] for row in rows])


def csv_header(columns: list[str]) -> bytes:
    """Give the line that names the columns."""
    return csv_rows([columns]) if columns else b""


def csv_rows(rows: Sequence[Sequence[Any]]) -> bytes:
    """Give rows as lines of CSV."""
    return "".join(",".join(map(_cell, row)) + "\r\n" for row in rows).encode()


def _cell(value: Any) -> str:
    if value is None or value is MISSING:
        return ""
    if isinstance(value, str):
        bare = value and _BARE.fullmatch(value) and not _LOOKS_TYPED.match(value)
        return value if bare else '"' + value.replace('"', '""') + '"'
    text = msgspec.json.encode(value).decode()
    return text if isinstance(value, bool | int | float) else '"' + text.replace('"', '""') + '"'
