"""WCL scripts: read, checked as a whole, and run statement by statement."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from dex.cli.confirm import confirm, destroys
from dex.cli.session import Session
from dex.cli.values import read_text
from dex.wcl.commands import Command
from dex.wcl.errors import DexError, Refused
from dex.wcl.parser import Parsed, parse, parse_span
from dex.wcl.statements import split


class Statement(NamedTuple):
    """One statement of a script: where it stands, and its command or the error that reading it gave.

    `file` is None for text from the command line.
    """

    file: str | None
    line: int
    column: int
    command: Command[Any] | DexError


def read_script(file: str, *, tolerant: bool = False) -> list[Statement]:
    """Read a file, or standard input where `file` is `-`; `tolerant` keeps errors of statements for later.

    Raises:
        InputError: the file cannot be read.
        WclSyntaxError, InvalidCommand: unless tolerant, the first error, with the fact `file`.
    """
    return read_statements(read_text(file), file, tolerant=tolerant)


def read_statements(text: str, file: str | None = None, *, tolerant: bool = False) -> list[Statement]:
    """Read the statements of a text; see `read_script`."""
    if tolerant:
        return list(_each(text, file))
    try:
        return [_statement(parsed, file) for parsed in parse(text)]
    except DexError as error:
        _place(error, file)
        raise


def _each(text: str, file: str | None) -> Iterator[Statement]:
    for span in split(text):
        try:
            yield _statement(parse_span(span), file)
        except DexError as error:
            _place(error, file)
            yield Statement(file, span.line, span.column, error)


def _statement(parsed: Parsed, file: str | None) -> Statement:
    return Statement(file, parsed.line, parsed.column, parsed.command)


def _place(error: DexError, file: str | None) -> None:
    if file is not None:
        error.facts["file"] = file


def run_statement(session: Session, statement: Statement) -> dict[str, Any]:
    """Run one statement and give `command`, `status` and `result`.

    A declaration that is not the one that exists changes nothing and succeeds; that is told as a warning (spec: W-05).

    Raises:
        DexError: of the statement, with the facts `file`, `line` and `column`.
    """
    if isinstance(statement.command, DexError):
        raise statement.command
    try:
        result = session.engine.execute(statement.command)
    except DexError as error:
        _place(error, statement.file)
        error.facts.update(line=statement.line, column=statement.column)
        raise
    note = getattr(result, "note", None)
    if note is not None:
        session.warn_unchanged(note, **_where(statement))
    tag = statement.command.__struct_config__.tag
    return {"command": tag, "status": getattr(result, "status", "ok"), "result": result}


def _where(statement: Statement) -> dict[str, Any]:
    place = {"line": statement.line, "column": statement.column}
    return place if statement.file is None else {"file": statement.file, **place}


def consent(session: Session, statements: list[Statement]) -> None:
    """Get consent to what statements destroy; see `confirm`.

    Raises:
        Refused: there is none, with the facts of the first statement that needs it.
    """
    readable = [(number, one) for number, one in enumerate(statements, 1) if isinstance(one.command, Command)]
    try:
        confirm(session, [one.command for _, one in readable if isinstance(one.command, Command)])
    except Refused as error:
        for number, one in readable:
            if isinstance(one.command, Command) and destroys(one.command):
                error.facts.update(_where(one), statement=number, statements=len(statements))
                break
        raise
