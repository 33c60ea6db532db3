"""Names of tables as the configuration writes them: `table` or `schema.table` (spec: Y-02).

A name is taken as it is written, upper case included. Double quotes are needed only around a dot or a quote.
"""

import re
from typing import NamedTuple

from dex.wcl.errors import InputError

_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


class TableName(NamedTuple):
    """A table and the schema it is in, None to look for it along the search path."""

    schema: str | None
    table: str

    def __str__(self) -> str:
        return ".".join(_written(part) for part in self if part is not None)


def parse_table_name(text: str) -> TableName:
    """Give the name that a configuration means.

    Raises:
        InputError: it has an empty part, more than two, or a quote without its pair.
    """
    parts: list[str] = []
    at = 0
    while True:
        piece = _PART.match(text, at)
        if piece is None or "\0" in text:
            raise _bad(text)
        parts.append(piece[2] if piece[1] is None else piece[1].replace('""', '"'))
        at = piece.end()
        if at == len(text):
            break
        if text[at] != ".":
            raise _bad(text)
        at += 1
    if len(parts) > 2 or not all(part.strip() for part in parts):
        raise _bad(text)
    return TableName(parts[0] if len(parts) == 2 else None, parts[-1])


def _written(part: str) -> str:
    return part if _PART.fullmatch(part) and '"' not in part else '"' + part.replace('"', '""') + '"'


def _bad(text: str) -> InputError:
    remedy = 'write table or schema.table, with a dot inside a name as "a.b"'
    return InputError(f"{text!r} is not a table name", remedy, text=text)
