"""Tables for people. Rows are written as they come; the first of them decide how wide the columns are for all."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from dex.cli.render.cells import cell
from dex.cli.render.rows import MISSING, columns_of, flatten, rest_of, rows_of
from dex.cli.render.text import printable

GAP = "  "
_NARROWEST = 6
_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Table:
    """Rows under fixed columns. `more` tells whether rows will follow those that the widths are measured on."""

    def __init__(self, columns: list[str], first: Sequence[Sequence[Any]], *, color: bool, more: bool = False) -> None:
        self.columns = columns
        self._color = color
        self._limit = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        self._right = [_is_number_column(values) for values in zip(*first, strict=True)] or [False] * len(columns)
        names = [printable(name) for name in columns]
        cells = [self._cells(row) for row in first]
        widths = [max(map(_width, (name, *column))) for name, *column in zip(names, *cells, strict=True)]
        self._widths = widths if self._limit is None else _fitted(widths, self._right, self._limit, more=more)

    def head(self) -> str:
        """Give the names of the columns over a rule."""
        start, end = (_BOLD, _RESET) if self._color else ("", "")
        names = [printable(name) for name in self.columns]
        head = "".join(f"{start}{line}{end}\n" for line in self._lines(names))
        return head + GAP.join("─" * width for width in self._widths) + "\n"

    def row(self, values: Sequence[Any]) -> str:
        """Give one row; on a terminal a cell that is too long goes on below."""
        return "".join(f"{line}\n" for line in self._lines(self._cells(values)))

    def _cells(self, values: Sequence[Any]) -> list[str]:
        return [cell(name, value) for name, value in zip(self.columns, values, strict=True)]

    def _lines(self, cells: list[str]) -> Iterable[str]:
        if self._limit is None:
            return (self._line(cells),)
        pieces = [_folded(text, width) for text, width in zip(cells, self._widths, strict=True)]
        return (self._line(line) for line in zip_longest(*pieces, fillvalue=""))

    def _line(self, cells: Sequence[str]) -> str:
        padded = [
            text.rjust(width) if right else text + " " * (width - _width(text))
            for text, width, right in zip(cells, self._widths, self._right, strict=True)
        ]
        return GAP.join(padded).rstrip(" ")


def table_text(data: Any, *, color: bool, counted: bool = False) -> bytes:
    """Give a list as a table, an object as names and values, a scalar as itself; `counted` adds how many rows."""
    rows = rows_of(data)
    if rows is not None:
        columns = columns_of(rows)
        values = [[row.get(name, MISSING) for name in columns] for row in rows]
        text = rows_text(columns, values, color=color) if rows else ""
        return (text + footer(rest_of(data), len(rows) if counted else None, color=color)).encode()
    if not isinstance(data, dict):
        return f"{cell('', data)}\n".encode()
    return _object_text(flatten(data), color=color).encode()


def rows_text(columns: list[str], rows: list[list[Any]], *, color: bool) -> str:
    """Give a whole table."""
    table = Table(columns, rows, color=color)
    return table.head() + "".join(map(table.row, rows))


def footer(rest: dict[str, Any], count: int | None, *, color: bool) -> str:
    """Give the line under a table: how many rows, how fresh they are, and where the next page starts."""
    parts = [] if count is None else [f"({count} row{'' if count == 1 else 's'})"]
    rest = dict(rest)
    freshness = rest.pop("freshness", None)
    if freshness is not None:
        behind = freshness["behind"]
        parts.append(f"position {freshness['applied_seq']}, {f'{behind} behind' if behind else 'up to date'}")
    parts += [f"{name} {cell(name, value)}" for name, value in flatten(rest).items() if not isinstance(value, list)]
    if not parts:
        return ""
    text = GAP.join(parts)
    return f"{_DIM}{text}{_RESET}\n" if color else f"{text}\n"


def _object_text(cells: dict[str, Any], *, color: bool) -> str:
    rows = [[name, value] for name, value in cells.items()]
    table = Table(["", ""], rows, color=color)
    width = max((len(printable(name)) for name in cells), default=0) if color else 0
    lines = (table.row(row) for row in rows)
    return "".join(f"{_BOLD}{line[:width]}{_RESET}{line[width:]}" if color else line for line in lines)


def _is_number_column(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _width(text: str) -> int:
    """Give how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _fitted(widths: list[int], fixed: list[bool], limit: int, *, more: bool) -> list[int]:
    """Give widths that fit a terminal: the widest are narrowed, and room that is left is shared if more rows come."""
    widths = list(widths)
    room = limit - len(GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    flexible = [index for index, is_number in enumerate(fixed) if not is_number]
    if more and flexible and sum(widths) < room:
        share = (room - sum(widths)) // len(flexible)
        for index in flexible:
            widths[index] += share
    return widths


def _folded(text: str, width: int) -> list[str]:
    """Cut a text into pieces that fit a column."""
    if _width(text) <= width:
        return [text]
    if text.isascii():
        return [text[start : start + width] for start in range(0, len(text), width)]
    from rich.cells import chop_cells

    return list(chop_cells(text, width))
