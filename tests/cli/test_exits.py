"""Exit codes and the shapes of errors, for every kind."""

import json

import pytest

from dex.cli.deadline import Expired
from dex.cli.exits import Style, conclude, exit_code, style_of
from dex.wcl.errors import (
    Conflict,
    DexError,
    FailedPrecondition,
    InputError,
    InvalidCommand,
    NotFound,
    Refused,
    Unavailable,
    WclSyntaxError,
)
from dex.wcl.parser import parse

CODES: list[tuple[BaseException, int]] = [
    (Refused("m"), 1),
    (InvalidCommand("m"), 1),
    (NotFound("m"), 1),
    (InputError("m"), 2),
    (WclSyntaxError("m"), 2),
    (Conflict("m"), 3),
    (FailedPrecondition("m"), 3),
    (Unavailable("m"), 4),
    (Expired(5.0), 4),
    (KeyboardInterrupt(), 130),
    (OSError(28, "No space left on device"), 1),
    (ZeroDivisionError("bug"), 1),
]


@pytest.mark.spec("X-03")
@pytest.mark.parametrize(("error", "code"), CODES, ids=[type(error).__name__ for error, _ in CODES])
def test_every_kind_of_error_has_its_code(error: BaseException, code: int) -> None:
    """The table of exit codes."""
    assert exit_code(error) == code


@pytest.mark.spec("X-03")
@pytest.mark.parametrize("error", [error for error, _ in CODES], ids=lambda error: type(error).__name__)
def test_an_error_is_one_line_without_a_traceback(capfd: pytest.CaptureFixture[str], error: BaseException) -> None:
    """Nothing but one line on standard error reaches a person."""
    conclude(error, Style())
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "Traceback" not in err


@pytest.mark.spec("X-03")
def test_an_error_as_json_has_kind_message_remedy_and_facts(capfd: pytest.CaptureFixture[str]) -> None:
    """Facts are in JSON's forms, bytes too."""
    conclude(Conflict("m", "r", store="s", holder=b"\xff"), Style(json=True))
    assert json.loads(capfd.readouterr().err) == {
        "error": {"kind": "conflict", "message": "m", "remedy": "r", "store": "s", "holder": {"bytes": "/w=="}}
    }


@pytest.mark.spec("X-03")
def test_a_bug_says_that_it_is_one_and_shows_more_on_request(capfd: pytest.CaptureFixture[str]) -> None:
    """The line names the error and `-vv`; with it the traceback comes too."""
    conclude(ZeroDivisionError("division by zero"), Style())
    assert capfd.readouterr().err == (
        "error: this is a bug in dex: ZeroDivisionError: division by zero; "
        "repeat the command with -vv to see where, and report it\n"
    )
    conclude(ZeroDivisionError("division by zero"), Style(traceback=True))
    assert capfd.readouterr().err.startswith("ZeroDivisionError")


@pytest.mark.spec("W-06", "X-04")
def test_a_syntax_error_in_a_file_has_place_line_and_caret(capfd: pytest.CaptureFixture[str]) -> None:
    """`file:line:column`, the source line, and the caret under the word (case 7)."""
    with pytest.raises(DexError) as caught:
        parse("-- a comment\nSHOW STATESTORES;\n\nDROP STATESTOR x;")
    caught.value.facts["file"] = "script.wcl"
    assert conclude(caught.value, Style()) == 2
    first, source, caret = capfd.readouterr().err.splitlines()
    assert first.startswith("error: script.wcl:4:6: expected STATESTORE or FEED")
    assert first.endswith("did you mean STATESTORE?")
    assert source[caret.index("^") :].startswith("STATESTOR x;")


def test_control_characters_of_an_error_are_escaped(capfd: pytest.CaptureFixture[str]) -> None:
    """A name from a person cannot colour the terminal or break the line."""
    conclude(Refused("there is no store \x1b[31m\n"), Style())
    assert capfd.readouterr().err == "error: there is no store \\x1b[31m\\n\n"


@pytest.mark.spec("X-03")
@pytest.mark.parametrize(
    ("args", "environ", "style"),
    [
        (["-o", "json"], {}, Style(json=True)),
        (["-ojson"], {}, Style(json=True)),
        (["--output=ndjson", "stor"], {}, Style(json=True)),
        (["-o", "table"], {"DEX_OUTPUT": "json"}, Style()),
        ([], {"DEX_OUTPUT": "json"}, Style(json=True)),
        (["--color", "always"], {"NO_COLOR": "1"}, Style(color=True)),
        ([], {"FORCE_COLOR": "1"}, Style(color=True)),
        (["-v", "--verbose"], {}, Style(traceback=True)),
        (["-vv"], {}, Style(traceback=True)),
        (["-v", "-o"], {}, Style()),
    ],
)
def test_the_style_of_usage_errors_is_read_leniently(args: list[str], environ: dict[str, str], style: Style) -> None:
    """Even where the arguments are wrong, the format that they ask for is known."""
    assert style_of(args, environ) == style
