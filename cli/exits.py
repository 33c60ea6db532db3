"""How a command ends: the one place that turns errors into text and an exit code (spec: X-03)."""

import errno
import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from dex.cli.color import DIM, RED, RESET, color_variable, wants_color
from dex.cli.deadline import Expired
from dex.cli.interrupts import INTERRUPTED
from dex.wcl.errors import Conflict, DexError, FailedPrecondition, InputError, Unavailable, shorten
from dex.wcl.shown import shown_error

DONE = 0
FAILED = 1
USAGE = 2
CONFLICT = 3
UNAVAILABLE = 4
PIPE_CLOSED = 141

_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (InputError, USAGE),
    (Conflict, CONFLICT),
    (FailedPrecondition, CONFLICT),
    (Unavailable, UNAVAILABLE),
    (Expired, UNAVAILABLE),
    (KeyboardInterrupt, INTERRUPTED),
    (BrokenPipeError, PIPE_CLOSED),
)


class Style(NamedTuple):
    """How errors are written: as JSON, with colour, with a traceback."""

    json: bool = False
    color: bool = False
    traceback: bool = False


def style_of(args: list[str], environ: Mapping[str, str]) -> Style:
    """Give the style that the arguments ask for, read leniently: they may be what is wrong."""
    form, color, verbosity = environ.get("DEX_OUTPUT", ""), "auto", 0
    for index, argument in enumerate(args):
        name, equals, value = argument.partition("=")
        value = value if equals else "".join(args[index + 1 : index + 2])
        if name in ("-o", "--output"):
            form = value
        elif argument.startswith("-o") and not argument.startswith("--"):
            form = argument[2:]
        elif name == "--color":
            color = value
        elif name in ("-v", "-vv", "-vvv", "--verbose"):
            verbosity += max(1, len(name) - 1) if name[1] == "v" else 1
    if color == "auto":
        color = (color_variable(environ) or ("auto",))[0]
    return Style(form in ("json", "ndjson"), wants_color(color, sys.stderr, environ), verbosity > 1)


def exit_code(error: BaseException) -> int:
    """Give the exit code for an error, or for one of several that a command met."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    return USAGE if _is_usage_error(error) else FAILED


def conclude(error: BaseException, style: Style) -> int:
    """Write an error to standard error and give the exit code. Nothing else in the program does either."""
    code = exit_code(error)
    if code == PIPE_CLOSED:
        _let_go_of_stdout()
        return code
    if style.traceback and not isinstance(error, KeyboardInterrupt):
        import traceback

        traceback.print_exception(error)
    facts = {name: shorten(fact) if isinstance(fact, str) else fact for name, fact in _facts(error).items()}
    if style.json and not isinstance(error, KeyboardInterrupt):
        write_error(facts)
    else:
        say(_text(error, facts, style))
    return code


def warn(problem: DexError, style: Style) -> None:
    """Write one line about what went wrong beside a command that goes on."""
    from dex.cli.render.text import printable

    if style.json:
        say(_json({"warning": _facts(problem)}))
    else:
        say(f"warning: {printable(one_line(_facts(problem)))}\n")


def one_line(facts: dict[str, Any]) -> str:
    """Give where an error is, what is wrong and what to do, from its facts."""
    remedy = f"; {facts['remedy']}" if facts["remedy"] else ""
    return f"{_place(facts)}{facts['message']}{remedy}"


def _facts(error: BaseException) -> dict[str, Any]:
    """Give kind, message, remedy and facts of any error."""
    if isinstance(error, DexError):
        from dex.wcl.wireerrors import error_to_json

        return error_to_json(error)
    if isinstance(error, KeyboardInterrupt):
        return {"kind": "cancelled", "message": "cancelled", "remedy": ""}
    if isinstance(error, Expired):
        return _expired_facts(error)
    if _is_usage_error(error):
        from dex.cli.usage import usage_facts

        return usage_facts(error)
    if isinstance(error, OSError):
        return _io_facts(error)
    message = f"this is a bug in dex: {shown_error(error)}"
    return {
        "kind": "bug",
        "message": message,
        "remedy": "repeat the command with -vv to see where, and report it",
    }


def _io_facts(error: OSError) -> dict[str, Any]:
    if error.errno == errno.EBADF and not error.filename:
        message = "the result is lost: standard output is closed"
        remedy = "what was to be done may be done; where no result is wanted, send it to /dev/null"
    else:
        where = f"{error.filename}: " if error.filename else ""
        message, remedy = f"{where}{error.strerror or error}", "check the disk and permissions"
    return {"kind": "io", "message": message, "remedy": remedy}


def _expired_facts(error: Expired) -> dict[str, Any]:
    from dex.wcl.durations import format_duration

    message = f"timed out after {format_duration(error.seconds)}{error.during and f' in {error.during}'}"
    remedy = "raise --timeout, or try again"
    if error.wrote:
        message += ", and a write may or may not have been applied"
        remedy = "look before you repeat it, or raise --timeout"
    return {"kind": "timeout", "message": message, "remedy": remedy}


def _is_usage_error(error: BaseException) -> bool:
    """Tell whether Typer refused the arguments; asked without importing Typer, which may not be loaded."""
    return any(kind.__name__ == "ClickException" for kind in type(error).__mro__)


def _text(error: BaseException, facts: dict[str, Any], style: Style) -> str:
    from dex.cli.render.text import printable

    if isinstance(error, KeyboardInterrupt):
        return "cancelled\n"
    red, dim, reset = (RED, DIM, RESET) if style.color else ("", "", "")
    if facts.get("faults"):
        remedy = f"; {facts['remedy']}" if facts["remedy"] else ""
        return f"{red}error:{reset} {_listed(facts['faults'], remedy)}\n"
    text = f"{red}error:{reset} {printable(one_line(facts))}\n"
    if isinstance(error, DexError) and "source_line" in facts:
        from dex.wcl.source import caret

        text += "".join(f"  {dim}{line}{reset}\n" for line in caret(error).splitlines())
    return text


def _listed(faults: list[str], remedy: str) -> str:
    """Give several faults one a line, and one alone as a line of its own."""
    from dex.cli.render.text import printable

    lines = [printable(" ".join(fault.split())) for fault in faults]
    if len(lines) == 1:
        return lines[0] + remedy
    return f"{len(lines)} faults{remedy}" + "".join(f"\n  {line}" for line in lines)


def _place(facts: dict[str, Any]) -> str:
    """Give `file:line:column: ` and which statement it is, where an error has these facts.

    Of text from the command line the line is told where it has several statements or lines.
    """
    place, several = "", facts.get("statements", 1) > 1
    if "column" in facts and ("file" in facts or several or facts["line"] > 1):
        in_words = f"line {facts['line']}, column {facts['column']}: "
        place = f"{facts['file']}:{facts['line']}:{facts['column']}: " if "file" in facts else in_words
        facts["message"] = facts["message"].removeprefix(in_words)
    if several:
        place += f"statement {facts['statement']} of {facts['statements']}: "
    return place


def write_error(facts: dict[str, Any]) -> None:
    """Write an error as one JSON object to standard error (spec: X-03)."""
    say(_json({"error": facts}))


def _json(document: dict[str, Any]) -> str:
    import json

    return json.dumps(document, ensure_ascii=False, default=str) + "\n"


def say(text: str) -> None:
    """Write to standard error; what it cannot encode is escaped, and where it cannot be written nobody can be told."""
    try:
        sys.stderr.flush()
        sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stderr.buffer.flush()
    except (OSError, ValueError):
        return


def _let_go_of_stdout() -> None:
    """Point standard output at nothing, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
