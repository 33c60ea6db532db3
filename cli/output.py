"""Results on standard output: table, json, ndjson, yaml or csv (spec: X-02).

Data formats never lose a value: `json` is one document per result (indented on a terminal, else one line),
`ndjson` one line per item of a list, `yaml` one document per result. Nothing but results is written here, except
that a table on a terminal ends in how many rows it has.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from dex.wcl.wire import to_json

if TYPE_CHECKING:
    from dex.cli.render.table import Table

CHUNK = 256


@contextmanager
def prints_aside() -> Iterator[None]:
    """Have what Flow files and handlers print go to standard error; no result is to be written meanwhile."""
    with redirect_stdout(sys.stderr):
        yield


class Output:
    """Writes results in one format.

    `form` is the format; `color` tells whether a table may be coloured, `counted` whether it says how many rows it has.
    """

    def __init__(self, form: str, *, color: bool = False, counted: bool = False) -> None:
        self.form = form
        self.color = color
        self.counted = counted and form == "table"

    def result(self, result: Any) -> None:
        """Write one result: a typed result, or dicts, lists and scalars."""
        data = to_json(result)
        if self.form == "json":
            _write(_json_document(data))
        elif self.form == "ndjson":
            for item in data if isinstance(data, list) else [data]:
                _write(_json_line(item))
        elif self.form == "yaml":
            from dex.cli.render.yaml import yaml_document

            _write(yaml_document(data))
        elif self.form == "csv":
            from dex.cli.render.csv import csv_document

            _write(csv_document(data))
        else:
            from dex.cli.render.table import table_text

            _write(table_text(data, color=self.color, counted=self.counted))

    def items(self, items: Iterable[Any], columns: list[str], *, header: bool = True) -> None:
        """Write items one at a time, as they come: a document, line or row for each, in bounded memory.

        `columns` are those of table and CSV; a column `outer.inner` reads an object inside the item.
        """
        stream = self.stream(columns, header=header)
        # One at a time outside of tables and CSV, so that a reader of a pipe that leaves ends the reading at once.
        size = CHUNK if self.form in ("table", "csv") else 1
        chunk: list[Any] = []
        try:
            for item in items:
                chunk.append(item)
                if len(chunk) == size:
                    stream.write(chunk)
                    chunk = []
        finally:
            # What was read before an error is not lost.
            if chunk:
                stream.write(chunk, more=False)
        stream.end()

    def stream(self, columns: list[str], *, header: bool = True) -> "Stream":
        """Give what writes items in several goes under one header."""
        return Stream(self, columns, header=header)

    def line(self, text: str) -> None:
        """Write a line of text, for tables."""
        from dex.cli.render.text import printable

        _write(printable(text).encode("utf-8", "replace") + b"\n")
        self.flush()

    def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        _write(data)

    def flush(self) -> None:
        """Hand over what was written, for a reader that follows."""
        sys.stdout.buffer.flush()


class Stream:
    """Items written in several goes; the first items decide how wide the columns of a table are for all."""

    def __init__(self, out: Output, columns: list[str], *, header: bool) -> None:
        self._out = out
        self._columns = columns
        self._header = header
        self._table: Table | None = None
        self._count = 0

    def write(self, items: Sequence[Any], *, more: bool = True) -> None:
        """Write items; `more` tells whether others may follow."""
        self._count += len(items)
        if self._out.form in ("json", "ndjson"):
            for item in items:
                _write(_json_line(to_json(item)))
        elif self._out.form == "yaml":
            for item in items:
                self._out.result(item)
        else:
            from dex.cli.render.rows import pick

            rows = [pick(to_json(item), self._columns) for item in items]
            _write(self._csv(rows) if self._out.form == "csv" else self._rows(rows, more=more))

    def end(self, rest: dict[str, Any] | None = None) -> None:
        """Write what comes after the last item: `rest` under a table, or the header of CSV that has no items."""
        if self._out.form == "csv":
            _write(self._csv([]))
        elif self._out.form == "table":
            from dex.cli.render.table import footer

            count = self._count if self._out.counted and self._header else None
            _write(footer(rest or {}, count, color=self._out.color).encode())

    def _csv(self, rows: list[list[Any]]) -> bytes:
        from dex.cli.render.csv import csv_header, csv_rows

        head, self._header = csv_header(self._columns) if self._header else b"", False
        return head + csv_rows(rows)

    def _rows(self, rows: list[list[Any]], *, more: bool) -> bytes:
        head = ""
        if self._table is None:
            from dex.cli.render.table import Table

            self._table = Table(self._columns, rows, color=self._out.color, more=more)
            head = self._table.head() if self._header else ""
        return (head + "".join(map(self._table.row, rows))).encode("utf-8", "replace")


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)


def _json_line(data: Any) -> bytes:
    import msgspec

    return msgspec.json.encode(data) + b"\n"


def _json_document(data: Any) -> bytes:
    if not sys.stdout.isatty():
        return _json_line(data)
    import msgspec

    return msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n"
