"""Batches: many scripts, one record for each statement (spec: X-04)."""

import sys
import time
from collections.abc import Iterator
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from dex.cli.exits import DONE, exit_code, one_line, write_error
from dex.cli.junit import Case, report_path, write_junit
from dex.cli.progress import progress
from dex.cli.scripts import Statement, consent, read_statements, run_statement
from dex.cli.session import Session
from dex.cli.values import read_text
from dex.wcl.errors import DexError, InputError
from dex.wcl.wire import to_json
from dex.wcl.wireerrors import error_to_json

COLUMNS = ["file", "line", "column", "status", "seconds", "command", "result", "error"]


class Batch:
    """One run over scripts: its options and what it has counted."""

    def __init__(self, session: Session, statements: list[Statement], *, tolerant: bool, dry: bool) -> None:
        self.session = session
        self.statements = statements
        self.tolerant = tolerant
        self.dry = dry
        self.cases: list[Case] = []
        self.unread: list[Case] = []
        self.failed = 0
        self.code = DONE

    def read(self, files: list[str], piped: str | None) -> None:
        """Read the statements of files, and get consent to what they destroy; `piped` is what came for `-` already.

        Raises:
            InputError: a file cannot be read, or a statement of it unless tolerant.
            Refused: there is no consent.
        """
        where = "files"
        try:
            for where in expand(files):
                text = read_text(where) if piped is None else piped
                self.statements += read_statements(text, where, tolerant=self.tolerant)
            where = "consent"
            if not self.dry:
                consent(self.session, self.statements)
        except DexError as error:
            name = f"{error.facts['line']}:{error.facts['column']}" if "column" in error.facts else "read"
            self.unread.append(Case(error.facts.get("file", where), name, 0.0, str(error)))
            raise

    def records(self) -> Iterator[dict[str, Any]]:
        """Run the statements and give a record for each.

        Raises:
            DexError: of the statement that failed, unless tolerant; it gives no record.
        """
        for number, statement in enumerate(self.statements, 1):
            yield self._run(number, statement)

    def _run(self, number: int, statement: Statement) -> dict[str, Any]:
        record: dict[str, Any] = {"file": statement.file, "line": statement.line, "column": statement.column}
        start = time.perf_counter()
        try:
            outcome = _check(statement) if self.dry else run_statement(self.session, statement)
        except DexError as error:
            seconds = time.perf_counter() - start
            self._failed(number, statement, error, seconds)
            return {**record, "status": "failed", "seconds": round(seconds, 6), "error": error_to_json(error)}
        seconds = time.perf_counter() - start
        self.cases.append(_case(statement, seconds))
        outcome["result"] = to_json(outcome["result"])
        return {**record, "status": outcome.pop("status"), "seconds": round(seconds, 6), **outcome}

    def _failed(self, number: int, statement: Statement, error: DexError, seconds: float) -> None:
        self.failed += 1
        self.code = max(self.code, exit_code(error))
        self.cases.append(_case(statement, seconds, str(error)))
        error.facts.update(statement=number, statements=len(self.statements))
        if not self.tolerant:
            raise error
        if not self.session.style.json:
            self.session.note(one_line(error_to_json(error)))

    def report(self) -> list[Case]:
        """Give a case for each statement, those that did not run included, or for the file that kept all from it."""
        left = self.statements[len(self.cases) :]
        return [*self.unread, *self.cases, *(_case(statement, 0.0)._replace(skipped=True) for statement in left)]

    def summary(self) -> str:
        """Say how many statements ran, and how many did not."""
        done, total = len(self.cases) - self.failed, len(self.statements)
        verb = "checked" if self.dry else "ok"
        text = f"{total} statement{'' if total == 1 else 's'}: {done} {verb}, {self.failed} failed"
        left = total - len(self.cases)
        return f"{text}, {left} not run" if left else text


def run_batch(
    session: Session,
    files: list[str],
    *,
    tolerant: bool = False,
    dry: bool = False,
    report: str | None = None,
    piped: str | None = None,
) -> int:
    """Run scripts and give the exit code; `piped` is the text of standard input, where that was read before.

    Raises:
        InputError: a file cannot be read; nothing has run then.
        DexError: of the first statement that failed, unless tolerant.
    """
    target = report_path(report)
    batch = Batch(session, [], tolerant=tolerant, dry=dry)
    try:
        batch.read(files, piped)
        _write(session, batch)
    finally:
        if target is not None:
            write_junit(target, "dex batch", batch.report())
        if batch.cases and not (batch.failed and session.style.json):
            session.note(batch.summary())
    if batch.failed and session.style.json:
        _conclude_json(batch)
    return batch.code


def _write(session: Session, batch: Batch) -> None:
    """Write records as they come; a table shows what each statement gave under where it stands."""
    if session.form == "table":
        for record in batch.records():
            _write_table(session, record)
        return
    stream = session.out.stream(COLUMNS)
    # Records that scroll by are progress enough, and a bar must not stand between them.
    with progress(session, "running", len(batch.statements), shown=not sys.stdout.isatty()) as advance:
        for record in batch.records():
            stream.write([record])
            advance(1)


def _write_table(session: Session, record: dict[str, Any]) -> None:
    session.out.line(f"{record['file']}:{record['line']}:{record['column']}  {record['status']}")
    if record["status"] == "ok" and record["result"]:
        session.out.result(record["result"])


def _conclude_json(batch: Batch) -> None:
    """Say on standard error, as JSON, what the records of failed statements say in full."""
    facts = {"kind": "batch", "message": batch.summary(), "remedy": "see the records with status failed"}
    write_error({**facts, "statements": len(batch.statements), "failed": batch.failed})


def expand(files: list[str]) -> list[str]:
    """Give the files that names and patterns mean, each pattern's in order; all of them can be opened.

    Raises:
        InputError: a file is not there, or a pattern matches none.
    """
    found: list[str] = []
    for name in files:
        if name == "-" or Path(name).exists():
            found.append(name)
        elif has_magic(name):
            matches = sorted(glob(name, recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
            if not matches:
                raise InputError(f"no file matches {name}", "check the pattern", file=name)
            found.extend(matches)
        else:
            raise InputError(f"there is no file {name}", "check the path; nothing was run", file=name)
    return found


def _check(statement: Statement) -> dict[str, Any]:
    """Give what a statement would run, as canonical WCL."""
    from dex.wcl.format import format_command

    if isinstance(statement.command, DexError):
        raise statement.command
    tag = statement.command.__struct_config__.tag
    return {"status": "valid", "command": tag, "result": format_command(statement.command)}


def _case(statement: Statement, seconds: float, failure: str | None = None) -> Case:
    name = f"{statement.line}:{statement.column}"
    if not isinstance(statement.command, DexError):
        name += f" {statement.command.__struct_config__.tag}"
    return Case(str(statement.file), name, seconds, failure)
