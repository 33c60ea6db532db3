"""Text cut into lexemes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex.wcl.lexemes import is_bare, quote, scan, unquote
from dex.wcl.table import KEYWORDS
from tests.wcl.strategies import any_text, segments


@pytest.mark.spec("W-04")
@given(any_text)
def test_each_character_is_in_one_lexeme(text: str) -> None:
    lexemes = list(scan(text))
    assert "".join(text[start:end] for _, start, end in lexemes) == text
    assert all(start < end for _, start, end in lexemes)


@pytest.mark.spec("W-04")
@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("DROP", ["keyword"]),
        ("drop.x", ["name"]),
        ("DROPX", ["name"]),
        ("'a''b'", ["string"]),
        ("'a''b", ["open_string"]),
        ('"a""b', ["open_name"]),
        ("/* x", ["open_comment"]),
        ("/*/", ["open_comment"]),
        ("--x\n", ["comment", "space"]),
        ("a--x", ["name", "comment"]),
        ("a@", ["name", "other"]),
        (",=;", ["punctuation", "punctuation", "semicolon"]),
    ],
)
def test_kinds(text: str, kinds: list[str]) -> None:
    assert [lexeme.kind for lexeme in scan(text)] == kinds


@pytest.mark.spec("W-04")
@given(st.lists(segments, min_size=1, max_size=3))
def test_a_quoted_name_is_read_as_it_was(names: list[str]) -> None:
    assert unquote(".".join(map(quote, names))) == ".".join(names)
    assert unquote(quote(".".join(names))) == ".".join(names)


@pytest.mark.spec("W-04")
def test_bare_words() -> None:
    assert all(map(is_bare, ["a", "a-b", "_", "1", "é", "keysx"]))
    assert not any(map(is_bare, ["", "a.b", "a-", "-a", "a--b", '"a"', "a b", *KEYWORDS, "unique"]))
