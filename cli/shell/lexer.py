"""Colours of what is typed, by its kind (spec: P-01)."""

import re
from collections.abc import Callable
from functools import cache

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer, PygmentsLexer

from dex.cli.shell.input import Kind, kind_of
from dex.wcl.pygments_lexer import WclLexer

_WORD = re.compile(
    r"""(?P<string>'[^']*'?|"(?:\\.|[^"\\])*"?)|(?P<option>(?<!\S)--?[\w-]+)|(?P<other>\s+|[^\s'"]+|.)"""
)
_STYLES = {"string": "class:pygments.literal.string", "option": "class:pygments.name.attribute", "other": ""}
_FIRST = "class:pygments.keyword"


class ShellLexer(Lexer):
    """Colours WCL and JSON by their grammars, and commands by their words."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Give a function from a line's number to its coloured pieces."""
        return _lexer_of(kind_of(document.text)).lex_document(document)


@cache
def _lexer_of(kind: Kind) -> Lexer:
    if kind in ("cli", "meta"):
        return CommandLexer()
    if kind == "json":
        # Takes as long to import as all else in the shell's own files.
        from pygments.lexers.data import JsonLexer

        return PygmentsLexer(JsonLexer, sync_from_start=True)
    return PygmentsLexer(WclLexer, sync_from_start=True)


class CommandLexer(Lexer):
    """Colours the command's name, its options and quoted words."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Give a function from a line's number to its coloured pieces."""
        lines = document.lines

        def pieces(number: int) -> StyleAndTextTuples:
            return coloured(lines[number], is_first=number == 0) if number < len(lines) else []

        return pieces


def coloured(line: str, *, is_first: bool) -> StyleAndTextTuples:
    """Cut a line of a command into coloured pieces that cover it; its first word is the command's name."""
    pieces: StyleAndTextTuples = []
    for match in _WORD.finditer(line):
        style = _STYLES[match.lastgroup or "other"]
        if is_first and not match[0].isspace():
            style, is_first = _FIRST, False
        pieces.append((style, match[0]))
    return pieces
