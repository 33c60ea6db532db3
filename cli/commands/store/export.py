"""`dex store export`."""

from collections.abc import Iterator
from typing import Annotated

import typer

from dex.cli.exporting import ExportFile, export_lines
from dex.cli.files import file_format
from dex.cli.paging import declared_keys, rows_of_store
from dex.cli.params import StoreName
from dex.cli.rowcells import columns_for, to_cells
from dex.cli.session import Ctx, Session
from dex.wcl.wire import encode

EXAMPLES = """
dex store export accounts.employees employees.ndjson
dex store export accounts.employees employees.csv
dex store export accounts.employees --format csv | gzip > employees.csv.gz
"""


def run(
    ctx: Ctx,
    store: StoreName,
    file: ExportFile = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="ndjson|csv", help="Default: by the file's name, else ndjson.")
    ] = None,
) -> None:
    """Write every row to a file.

    The form is ndjson, {key, payload, named} on each line, or CSV with the columns key, payload and named.K. Either is
    read back by import to the same rows, byte for byte. In CSV a cell is text as it is; := begins what is not text,
    such as :=3, :=null or :={"bytes": "/w=="}; an empty cell is a value that is not set. A file appears under its name
    only when it is complete; a pipe or device is written as it is.
    """
    session = ctx.obj
    export_lines(session, _lines(session, store, file_format(file, form)), file)


def _lines(session: Session, store: str, form: str) -> Iterator[bytes]:
    """Give the header, which ndjson has none of, then a line for each row."""
    if form == "ndjson":
        yield b""
        yield from (encode(row) + b"\n" for row in rows_of_store(session.engine, store))
        return
    from dex.cli.render.csv import csv_header, csv_rows

    columns = columns_for(declared_keys(session.engine, store))
    yield csv_header(columns)
    for cells in map(to_cells, rows_of_store(session.engine, store)):
        yield csv_rows([[cells.get(column) for column in columns]])
