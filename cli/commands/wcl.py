"""`dex wcl`: WCL statements, checked as a whole before the first one runs (spec: W-09)."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from dex.cli.scripts import Statement, consent, read_script, read_statements, run_statement
from dex.cli.session import Ctx, Session
from dex.wcl.errors import DexError, InputError
from dex.wcl.wire import to_json

EXAMPLES = """
dex wcl "DEFINE STATESTORE accounts.employees KEYS department, passport UNIQUE"
dex wcl "SHOW STATESTORES; DESCRIBE STATESTORE accounts.employees" -o json
dex wcl -f schema.wcl
echo "SHOW STATESTORES" | dex wcl -
"""

COLUMNS = ["command", "status", "result"]


def run(
    ctx: Ctx,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="Statements, or - for standard input.")] = None,
    file: Annotated[str | None, typer.Option("-f", "--file", metavar="FILE", help="Read them from a file.")] = None,
) -> None:
    """Run WCL statements.

    Each statement prints one result, {command, status, result}; the first that fails stops the rest.
    Nothing runs unless all of them can be read.
    """
    session = ctx.obj
    statements = _statements(text, file)
    consent(session, statements)
    write = _writer(session)
    for number, statement in enumerate(statements, 1):
        try:
            outcome = run_statement(session, statement)
        except DexError as error:
            error.facts.update(statement=number, statements=len(statements))
            raise
        write(outcome)


def _statements(text: str | None, file: str | None) -> list[Statement]:
    if text is None and file is None:
        raise InputError("there is nothing to run", "give statements, -f FILE, or - for standard input")
    if text is not None and file is not None:
        raise InputError("statements are given twice, as text and as a file", "give one of them")
    if file is not None or text == "-":
        return read_script(file or "-")
    return read_statements(text or "")


def _writer(session: Session) -> Callable[[dict[str, Any]], None]:
    """Give what prints the outcome of a statement; a table shows the result alone, and CSV has one header for all."""
    if session.form == "table":
        return lambda outcome: session.out.result(outcome["result"])
    if session.form == "csv":
        stream = session.out.stream(COLUMNS)
        return lambda outcome: stream.write([_as_json(outcome)])
    return lambda outcome: session.out.result(_as_json(outcome))


def _as_json(outcome: dict[str, Any]) -> dict[str, Any]:
    return {**outcome, "result": to_json(outcome["result"])}
