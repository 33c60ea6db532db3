"""The export that stores and feeds share: lines to standard output, or to a file that appears when it is complete."""

from collections.abc import Iterator
from typing import Annotated, TypeAlias

import typer

from dex.cli.files import is_stdout, whole_file
from dex.cli.session import Session

ExportFile: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="FILE", help="Where to; standard output if left out.")
]


def export_lines(session: Session, lines: Iterator[bytes], file: str | None) -> None:
    """Write lines, of which the first is a header or empty; a file's result tells how many others there are.

    Raises:
        InputError: the file is a directory.
        OSError: it cannot be written.
    """
    if file is None or is_stdout(file):
        for line in lines:
            session.out.raw(line)
        return
    exported = 0
    with whole_file(file) as stream:
        stream.write(next(lines))
        for line in lines:
            stream.write(line)
            exported += 1
    session.out.result({"exported": exported, "file": file})
