"""WCL text as coloured pieces, for the shell and for error reports."""

from typing import Final, Literal, NamedTuple, TypeAlias

from dex.wcl.lexemes import Kind, scan

Colour: TypeAlias = Literal["space", "comment", "string", "keyword", "name", "punctuation", "error"]

# What is not closed yet looks like what it is going to be: while one types it is not wrong.
_COLOURS: Final[dict[Kind, Colour]] = {
    "space": "space",
    "comment": "comment",
    "open_comment": "comment",
    "string": "string",
    "open_string": "string",
    "keyword": "keyword",
    "name": "name",
    "open_name": "name",
    "semicolon": "punctuation",
    "punctuation": "punctuation",
    "other": "error",
}


class Piece(NamedTuple):
    """A piece of text by its kind and its offsets."""

    kind: Colour
    start: int
    end: int


def highlight(text: str) -> list[Piece]:
    """Cut a text into pieces that cover each of its characters once, in order. Never raises."""
    return [Piece(_COLOURS[lexeme.kind], lexeme.start, lexeme.end) for lexeme in scan(text)]
