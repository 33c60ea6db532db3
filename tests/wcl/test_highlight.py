"""Colours of WCL text."""

import pytest
from hypothesis import given
from pygments.token import Comment, Error, Keyword, Name, Punctuation, String

from dex.wcl.highlight import highlight
from dex.wcl.pygments_lexer import WclLexer
from tests.wcl.strategies import any_text


@pytest.mark.spec("P-01")
@given(any_text)
def test_pieces_cover_each_character_once(text: str) -> None:
    position = 0
    for piece in highlight(text):
        assert piece.start == position
        position = piece.end
    assert position == len(text)
    assert "".join(value for _, _, value in WclLexer().get_tokens_unprocessed(text)) == text


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Show STATESTORES;", ["keyword", "keyword", "punctuation"]),
        ('drop feed a."keys"', ["keyword", "keyword", "name"]),
        ("a = json 'x' -- y", ["name", "punctuation", "keyword", "string", "comment"]),
        ("'open", ["string"]),
        ("/* open", ["comment"]),
        ('"open', ["name"]),
        ("@", ["error"]),
    ],
)
def test_kinds(text: str, kinds: list[str]) -> None:
    assert [piece.kind for piece in highlight(text) if piece.kind != "space"] == kinds


@pytest.mark.spec("P-01")
def test_pygments_gets_its_token_types() -> None:
    tokens = [kind for kind, value in WclLexer().get_tokens("DROP a, 'x' -- y\n@") if value.strip()]
    assert tokens == [Keyword, Name, Punctuation, String, Comment, Error]
