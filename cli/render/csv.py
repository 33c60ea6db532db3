"""CSV that keeps types apart (spec: X-02).

Null is an empty cell and the empty text is `""`. Numbers and booleans are bare; text is quoted where it would
read as one of these or break the row. Lists, and bytes that are not UTF-8, are JSON in quotes.
"""

import re
from typing import Any

import msgspec

from dex.cli.render.rows import columns_of, flatten, rows_of

_BARE = re.compile(r"(?!\s)[^\",\r\n\0]*(?<!\s)")
_LOOKS_TYPED = re.compile(r"[-+]?\d|true$|false$|null$|[{\[]")


def csv_document(data: Any) -> bytes:
    """Give a whole result as CSV: a header and a line for each row."""
    rows = rows_of(data)
    if rows is None:
        rows = [flatten(data)]
    return csv_rows(rows, columns_of(rows), header=True)


def csv_rows(rows: list[dict[str, Any]], columns: list[str], *, header: bool) -> bytes:
    """Give rows as lines of CSV."""
    lines = [",".join(_cell(name) for name in columns)] if header and columns else []
    lines += [",".join(_cell(row.get(name)) for name in columns) for row in rows]
    return "".join(f"{line}\r\n" for line in lines).encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        bare = value and _BARE.fullmatch(value) and not _LOOKS_TYPED.match(value)
        return value if bare else '"' + value.replace('"', '""') + '"'
    text = msgspec.json.encode(value).decode()
    return text if isinstance(value, bool | int | float) else '"' + text.replace('"', '""') + '"'
