"""Places in a script, and the caret below a line."""

import pytest

from dex.wcl.errors import DexError
from dex.wcl.source import caret, locate, visible


@pytest.mark.spec("W-06")
@pytest.mark.parametrize(
    ("source", "offset", "facts"),
    [
        ("", 0, {"line": 1, "column": 1, "source_line": ""}),
        ("ab", 2, {"line": 1, "column": 3, "source_line": "ab"}),
        ("ab\ncd\n", 4, {"line": 2, "column": 2, "source_line": "cd"}),
        ("ab\r\ncd\r\n", 5, {"line": 2, "column": 2, "source_line": "cd"}),
        ("\ufeffab", 1, {"line": 1, "column": 1, "source_line": "ab"}),
        ("a\x1b[31mb", 0, {"line": 1, "column": 1, "source_line": "a\ufffd[31mb"}),
    ],
)
def test_a_place(source: str, offset: int, facts: dict[str, object]) -> None:
    assert locate(source, offset) == facts


@pytest.mark.spec("W-06")
@pytest.mark.parametrize(
    ("line", "column", "pointer"),
    [
        ("DROP x", 6, "     ^"),
        ("\tDROP x", 7, "\t     ^"),
        ("日本 x", 4, "     ^"),
        ("e\u0301 x", 4, "  ^"),
        ("x", 2, " ^"),
    ],
)
def test_the_caret_stands_under_the_column_as_it_is_shown(line: str, column: int, pointer: str) -> None:
    error = DexError("no", line=1, column=column, source_line=line)
    assert caret(error) == f"{line}\n{pointer}"


@pytest.mark.spec("W-06")
def test_an_error_without_a_place_has_no_caret() -> None:
    assert caret(DexError("no")) == ""


@pytest.mark.spec("W-06")
def test_what_a_terminal_would_obey_is_made_visible() -> None:
    assert visible("a\x00\x1b\x9b\u2028\ud800\tb") == "a\ufffd\ufffd\ufffd\ufffd\ufffd\tb"
