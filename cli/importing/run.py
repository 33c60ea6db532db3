"""The import loop that stores and feeds share."""

import sys
from bisect import insort
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from dex.cli.files import file_format
from dex.cli.importing.sources import CheckFields, Line, csv_lines, json_lines
from dex.cli.progress import progress
from dex.cli.session import Session
from dex.cli.values import unreadable
from dex.wcl.errors import DexError, Refused, Unavailable
from dex.wcl.values import nested_too_deeply

BATCH = 1000
BATCH_BYTES = 8 * 1024 * 1024
SHOWN = 5

Make = Callable[[Any, bytes], Any]
Send = Callable[[list[Any]], list[Any]]


def any_fields(_header: list[str]) -> None:
    """Accept whatever fields a file has."""


class Reading(NamedTuple):
    """How records become items: one function for objects of ndjson and one for rows of CSV, whose header is checked."""

    from_json: Make
    from_csv: Make
    check_header: CheckFields = any_fields


class Tally:
    """What became of the lines; `replaces` tells whether it is known which of them replaced something."""

    def __init__(self, *, replaces: bool = True) -> None:
        self._replaces = replaces
        self.read = self.applied = self.replaced = self.failed = 0
        self.failures: list[dict[str, Any]] = []

    def add(self, line: int, result: Any) -> None:
        """Count one result.

        Raises:
            Unavailable: the result is that; what follows would fail alike.
        """
        if isinstance(result, Unavailable):
            result.facts.update(self.counts())
            raise result
        if isinstance(result, DexError):
            self.failed += 1
            # Lines that cannot be read are told before those of their batch that cannot be applied.
            if len(self.failures) < SHOWN or line < self.failures[-1]["line"]:
                failure = {"line": line, "kind": result.kind, "message": str(result)}
                insort(self.failures, failure, key=itemgetter("line"))
                del self.failures[SHOWN:]
        else:
            self.applied += 1
            self.replaced += bool(getattr(result, "replaced", False))

    def counts(self) -> dict[str, int]:
        """Give the numbers."""
        replaced = {"replaced": self.replaced} if self._replaces else {}
        return {"read": self.read, "applied": self.applied, **replaced, "failed": self.failed}


class _Pending(NamedTuple):
    line: int
    item: Any


def import_file(
    session: Session, file: str, form: str | None, reading: Reading, send: Send, *, replaces: bool = True
) -> None:
    """Read a file, make an item of each line and send them in batches; print what became of them.

    `reading` turns a record and its bytes into an item or raises DexError; `send` gives a result for each item.
    `replaces` tells whether results say that they replaced something.

    Raises:
        InputError: the file cannot be read, its form is unknown, or its header is wrong; nothing was applied.
        Refused: some lines failed, after the result was printed.
    """
    form = file_format(file, form)
    tally = Tally(replaces=replaces)
    stream, total = _open(file)
    try:
        with stream, progress(session, f"importing {file}", total) as advance:
            lines = csv_lines(stream, file, reading.check_header) if form == "csv" else json_lines(stream)
            _loop(lines, reading.from_csv if form == "csv" else reading.from_json, send, tally, advance)
    except BaseException as error:
        if tally.read and not (isinstance(error, DexError) and session.style.json):
            _tell_failures(session, file, tally)
            session.tell(f"{tally.applied} of the {tally.read} lines read so far were applied for certain")
        raise
    session.out.result(tally.counts())
    if tally.failed:
        _report(session, file, tally)


def _open(file: str) -> tuple[BinaryIO, int | None]:
    if file == "-":
        return sys.stdin.buffer, None
    try:
        path = Path(file)
        return path.open("rb"), path.stat().st_size
    except OSError as error:
        raise unreadable(file, error) from error


def _loop(lines: Iterator[Line], make: Make, send: Send, tally: Tally, advance: Callable[[int], None]) -> None:
    pending: list[_Pending] = []
    size = 0
    try:
        for line in lines:
            tally.read += 1
            size += line.size
            _take(line, make, pending, tally)
            if len(pending) >= BATCH or size >= BATCH_BYTES:
                _flush(pending, send, tally)
                advance(size)
                size = 0
    except OSError:
        _flush(pending, send, tally)  # the lines before those that cannot be read
        raise
    _flush(pending, send, tally)


def _take(line: Line, make: Make, pending: list[_Pending], tally: Tally) -> None:
    """Make an item of a line, or count the line as failed."""
    if isinstance(line.record, DexError):
        tally.add(line.number, line.record)
        return
    try:
        pending.append(_Pending(line.number, make(line.record, line.raw)))
    except DexError as error:
        tally.add(line.number, error)
    except RecursionError:
        tally.add(line.number, nested_too_deeply())


def _flush(pending: list[_Pending], send: Send, tally: Tally) -> None:
    if pending:
        for entry, result in zip(pending, send([entry.item for entry in pending]), strict=True):
            tally.add(entry.line, result)
        pending.clear()


def _report(session: Session, file: str, tally: Tally) -> None:
    if not session.style.json:
        _tell_failures(session, file, tally)
    others = f"; the other{'s were' if tally.applied > 1 else ' was'} applied" if tally.applied else ""
    raise Refused(
        f"{tally.failed} of {tally.read} line{'' if tally.read == 1 else 's'} of {file} failed{others}",
        "correct them and import again",
        **tally.counts(),
        failures=tally.failures,
    )


def _tell_failures(session: Session, file: str, tally: Tally) -> None:
    """Name the first lines that failed with their reasons, and count the others."""
    for failure in tally.failures:
        session.tell(f"{file}:{failure['line']}: {failure['message']}")
    if tally.failed > len(tally.failures):
        session.tell(f"… and {tally.failed - len(tally.failures)} more")
