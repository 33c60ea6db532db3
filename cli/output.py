"""Results on standard output: table, json, ndjson, yaml or csv (spec: X-02).

Data formats never lose a value: `json` is one document per result (indented on a terminal, else one line),
`ndjson` one line per item of a list, `yaml` one document per result. Nothing but results is written here.
"""

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from dex.wcl.wire import to_json

TABLE_CHUNK = 256


class Output:
    """Writes results in one format.

    `form` is the format; `color` tells whether a table may be coloured.
    """

    def __init__(self, form: str, *, color: bool = False) -> None:
        self.form = form
        self.color = color

    def result(self, result: Any) -> None:
        """Write one result: a typed result, or dicts, lists and scalars."""
        data = to_json(result)
        if self.form == "json":
            _write(_json_document(data))
        elif self.form == "ndjson":
            for item in data if isinstance(data, list) else [data]:
                _write(_json_line(item))
        else:
            self._rendered(data)

    def items(self, items: Iterable[Any], columns: list[str], *, header: bool = True) -> None:
        """Write items one at a time, as they come: a document, line or row for each, in bounded memory.

        `columns` are those of table and CSV; a column `outer.inner` reads an object inside the item.
        """
        if self.form in ("json", "ndjson"):
            for item in items:
                _write(_json_line(to_json(item)))
        elif self.form == "yaml":
            for item in items:
                self._rendered(to_json(item))
        else:
            self._chunks(iter(items), columns, header=header)

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

    def _rendered(self, data: Any) -> None:
        if self.form == "yaml":
            from dex.cli.render.yaml import yaml_document

            _write(yaml_document(data))
        elif self.form == "csv":
            from dex.cli.render.csv import csv_document

            _write(csv_document(data))
        else:
            from dex.cli.render.table import table_text

            _write(table_text(data, color=self.color))

    def _chunks(self, items: Iterator[Any], columns: list[str], *, header: bool) -> None:
        """Write rows in chunks under one header, for formats that need to see rows together."""
        from dex.cli.render.rows import pick

        while chunk := [pick(to_json(item), columns) for item in islice(items, TABLE_CHUNK)]:
            if self.form == "csv":
                from dex.cli.render.csv import csv_rows

                _write(csv_rows(chunk, columns, header=header))
            else:
                from dex.cli.render.table import rows_text

                _write(rows_text(chunk, columns, color=self.color, header=header))
            header = False


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
