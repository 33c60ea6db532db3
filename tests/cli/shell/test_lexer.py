"""Colours of what is typed."""

import pytest
from hypothesis import given
from prompt_toolkit.document import Document

from dex.cli.shell.lexer import ShellLexer, coloured
from tests.wcl.strategies import any_text


def styles(text: str) -> dict[str, str]:
    """The style of each piece of the first line."""
    pieces = ShellLexer().lex_document(Document(text))(0)
    return {piece[1].strip(): piece[0].rpartition(".")[2] for piece in pieces if piece[1].strip()}


@pytest.mark.spec("P-01")
def test_each_kind_has_its_colours() -> None:
    assert styles("SHOW STATESTORES; -- done")["SHOW"] == "keyword"
    assert styles("SHOW STATESTORES; -- done")["-- done"] == "comment"
    assert styles('{"command": true}')['"command"'] == "tag"
    assert styles("store put 'a b' --named x=1") == {
        "store": "keyword",
        "put": "",
        "'a b'": "string",
        "--named": "attribute",
        "x=1": "",
    }
    assert styles(r"\o x")[r"\o"] == "keyword"


@pytest.mark.spec("P-01")
@given(any_text)
def test_colours_cover_each_character_once(text: str) -> None:
    line = text.partition("\n")[0]
    assert "".join(piece[1] for piece in coloured(line, is_first=True)) == line
