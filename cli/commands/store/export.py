"""`dex store export`."""

from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from dex.cli.paging import rows_of_store
from dex.cli.params import StoreName
from dex.cli.session import Ctx, Session
from dex.wcl.wire import encode

EXAMPLES = """
dex store export accounts.employees employees.ndjson
dex store export accounts.employees | gzip > employees.ndjson.gz
"""


def run(
    ctx: Ctx,
    store: StoreName,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="Where to; standard output if left out.")] = None,
) -> None:
    """Write every row to a file.

    The form is ndjson, {key, payload, named} on each line, which import reads back byte for byte. A file appears
    under its name only when it is complete.
    """
    session = ctx.obj
    if file in (None, "-"):
        for row in rows_of_store(session.engine, store):
            session.out.raw(encode(row) + b"\n")
        return
    target = Path(str(file))
    partial = target.with_name(f".{target.name}.partial")
    try:
        with partial.open("wb") as stream:
            count = _write(session, store, stream)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    session.out.result({"exported": count, "file": str(file)})


def _write(session: Session, store: str, stream: BinaryIO) -> int:
    count = 0
    for row in rows_of_store(session.engine, store):
        stream.write(encode(row) + b"\n")
        count += 1
    return count
