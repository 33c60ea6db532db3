r"""Tables for people; control characters are escaped and bytes that are not UTF-8 are shown as `b'\xff'`."""

import sys
from base64 import b64decode
from collections.abc import Sequence
from io import StringIO
from shutil import get_terminal_size
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dex.cli.render.rows import columns_of, flatten, rows_of
from dex.cli.render.text import printable

_UNLIMITED = 1_000_000


def table_text(data: Any, *, color: bool) -> bytes:
    """Give a list as a table, an object as names and values, a scalar as itself."""
    rows = rows_of(data)
    if rows is None:
        return _rendered([_object_table(data) if isinstance(data, dict) else _cell(data)], color=color)
    parts: list[Table | Text] = [_rows_table(rows, columns_of(rows), header=True)] if rows else []
    return _rendered([*parts, *_rest(data)], color=color)


def rows_text(rows: list[dict[str, Any]], columns: list[str], *, color: bool, header: bool) -> bytes:
    """Give rows under given columns, with or without a header."""
    return _rendered([_rows_table(rows, columns, header=header)], color=color)


def _rendered(parts: Sequence[Table | Text], *, color: bool) -> bytes:
    """Draw to the width of a terminal; elsewhere each row is one line."""
    text = StringIO()
    width = get_terminal_size().columns if sys.stdout.isatty() else _UNLIMITED
    console = Console(file=text, force_terminal=color, no_color=not color, width=width, highlight=False)
    for part in parts:
        console.print(part)
    return text.getvalue().encode(errors="replace")


def _rows_table(rows: list[dict[str, Any]], columns: list[str], *, header: bool) -> Table:
    table = Table(box=SIMPLE_HEAD if header else None, show_header=header, pad_edge=False, show_edge=False)
    for name in columns:
        numbers = all(isinstance(row.get(name), int) and not isinstance(row.get(name), bool) for row in rows)
        table.add_column(Text(printable(name)), overflow="fold", justify="right" if numbers else "left")
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in columns))
    return table


def _rest(data: Any) -> list[Text]:
    """Give what a page says beside its rows, such as where the next one starts."""
    if not isinstance(data, dict):
        return []
    rest = {name: value for name, value in flatten(data).items() if not isinstance(value, list) and value is not None}
    return [Text("  ".join(f"{name} {_cell(value)}" for name, value in rest.items()), style="dim")] if rest else []


def _object_table(data: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in flatten(data).items():
        table.add_row(Text(printable(name)), _cell(value))
    return table


def _cell(value: Any) -> Text:
    if value is None:
        return Text("null", style="dim")
    if isinstance(value, str):
        return Text(printable(value))
    if isinstance(value, dict) and set(value) == {"bytes"}:
        return Text(repr(b64decode(value["bytes"])))
    if isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
        return Text(printable(", ".join(map(_named, value))))
    return Text(printable(msgspec.json.encode(value).decode()))


def _named(item: dict[str, Any]) -> str:
    """Give a declared thing in words: `passport unique`, `department json dept`."""
    words = [str(item["name"])]
    for name, value in item.items():
        if value is True:
            words.append(name)
        elif isinstance(value, dict):
            words += [str(part) for part in value.values()]
    return " ".join(words)
