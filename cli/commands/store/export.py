"""`dex store export`."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from dex.cli.files import file_format
from dex.cli.paging import declared_keys, rows_of_store
from dex.cli.params import StoreName
from dex.cli.rowcells import columns_for, to_cells
from dex.cli.session import Ctx, Session
from dex.wcl.errors import InputError
from dex.wcl.wire import encode

EXAMPLES = """
dex store export accounts.employees employees.ndjson
dex store export accounts.employees employees.csv
dex store export accounts.employees --format csv | gzip > employees.csv.gz
"""


def run(
    ctx: Ctx,
    store: StoreName,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="Where to; standard output if left out.")] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="ndjson|csv", help="Default: by the file's name, else ndjson.")
    ] = None,
) -> None:
    """Write every row to a file.

    The form is ndjson, {key, payload, named} on each line, or CSV with the columns key, payload and named.K. Either is
    read back by import to the same rows, byte for byte. In CSV a cell is text as it is; := begins what is not text,
    such as :=3, :=null or :={"bytes": "/w=="}; an empty cell is a value that is not set. A file appears under its name
    only when it is complete.
    """
    session = ctx.obj
    lines = _lines(session, store, file_format(file, form))
    if file in (None, "-"):
        for line in lines:
            session.out.raw(line)
        return
    rows = 0
    with _complete_file(str(file)) as write:
        write(next(lines))
        for line in lines:
            write(line)
            rows += 1
    session.out.result({"exported": rows, "file": str(file)})


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


@contextmanager
def _complete_file(name: str) -> Iterator[Callable[[bytes], object]]:
    """Give what writes to a file that appears under its name at the end, and not at all after an error.

    What is no regular file, such as a named pipe, is written as it is.

    Raises:
        InputError: the name is that of a directory.
        OSError: the file cannot be written.
    """
    target = Path(name)
    if target.is_dir():
        raise InputError(f"{name} is a directory", "name a file in it", file=name)
    special = target.exists() and not target.is_file()
    written = target if special else target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with written.open("wb") as stream:
            yield stream.write
        if not special:
            written.replace(target)
    except OSError as error:
        # The name that a person has given, and not that of the part.
        raise OSError(error.errno, error.strerror, name) from error
    finally:
        if not special:
            written.unlink(missing_ok=True)
