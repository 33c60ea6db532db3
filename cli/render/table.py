r"""Tables for people; control characters are escaped and bytes that are not UTF-8 are shown as `b'\xff'`."""

import sys
from base64 import b64decode
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dex.cli.render.rows import columns_of, flatten, rows_of
from dex.cli.render.text import printable

_UNLIMITED = 1_000_000


def print_table(data: Any, *, color: bool) -> None:
    """Print a list as a table, an object as name and value, a scalar as itself."""
    console = _console(color=color)
    rows = rows_of(data)
    if rows is not None:
        if rows:
            console.print(_rows_table(rows, columns_of(rows), header=True))
        _print_rest(console, data)
    elif isinstance(data, dict):
        console.print(_object_table(data))
    elif data is not None:
        console.print(_cell(data))


def print_rows(rows: list[dict[str, Any]], columns: list[str], *, color: bool, header: bool) -> None:
    """Print rows under given columns, with or without a header."""
    _console(color=color).print(_rows_table(rows, columns, header=header))


def _console(*, color: bool) -> Console:
    """Give a console that wraps at the width of a terminal; elsewhere each row is one line."""
    width = None if sys.stdout.isatty() else _UNLIMITED
    return Console(force_terminal=color, no_color=not color, width=width, highlight=False)


def _rows_table(rows: list[dict[str, Any]], columns: list[str], *, header: bool) -> Table:
    table = Table(box=SIMPLE_HEAD if header else None, show_header=header, pad_edge=False, show_edge=False)
    for name in columns:
        numbers = all(isinstance(row.get(name), int) and not isinstance(row.get(name), bool) for row in rows)
        table.add_column(Text(printable(name)), overflow="fold", justify="right" if numbers else "left")
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in columns))
    return table


def _print_rest(console: Console, data: Any) -> None:
    """Print what a page says beside its rows, such as where the next one starts."""
    if not isinstance(data, dict):
        return
    rest = {name: value for name, value in flatten(data).items() if not isinstance(value, list) and value is not None}
    if rest:
        console.print(Text("  ".join(f"{name} {_cell(value)}" for name, value in rest.items()), style="dim"))


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
    return Text(printable(msgspec.json.encode(value).decode()))
