"""WCL for Pygments, and so for prompt_toolkit. Only who highlights imports this module."""

from collections.abc import Iterator
from typing import ClassVar

from pygments.lexer import Lexer
from pygments.token import Comment, Error, Keyword, Name, Punctuation, String, Whitespace, _TokenType

from dex.wcl.highlight import Colour, highlight


class WclLexer(Lexer):
    """Gives Pygments the pieces that `dex.wcl.highlight` finds."""

    name = "WCL"
    aliases: ClassVar[list[str]] = ["wcl"]
    filenames: ClassVar[list[str]] = ["*.wcl"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """Give the offset, the token type and the text of each piece."""
        for kind, start, end in highlight(text):
            yield start, _TOKENS[kind], text[start:end]


_TOKENS: dict[Colour, _TokenType] = {
    "space": Whitespace,
    "comment": Comment,
    "string": String,
    "keyword": Keyword,
    "name": Name,
    "punctuation": Punctuation,
    "error": Error,
}
