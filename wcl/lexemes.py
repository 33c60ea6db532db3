"""WCL text cut into lexemes, each character in exactly one, by the grammar's own terminals.

Splitting a script, highlighting and completion all read text through `scan`, so that there is one answer to
where a comment or a string ends.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from dex.wcl.table import KEYWORDS, PATTERNS

Kind: TypeAlias = Literal[
    "space", "comment", "string", "keyword", "name", "semicolon", "punctuation",
    "open_comment", "open_string", "open_name", "other",
]  # fmt: skip
"""`open_…` is never closed and runs to the end of the text; `other` is a character WCL has no use for."""

NAME: Final = re.compile(PATTERNS["STORE_NAME"])
SEGMENT: Final = re.compile(r'"([^"]*(?:""[^"]*)*)"(?!")|[^."]+')

_KINDS: Final[dict[Kind, str]] = {
    "space": PATTERNS["SPACE"],
    "comment": PATTERNS["COMMENT"],
    "string": PATTERNS["STRING"],
    "keyword": "|".join(PATTERNS[keyword] for keyword in KEYWORDS),
    "name": PATTERNS["STORE_NAME"],
    "semicolon": PATTERNS["SEMICOLON"],
    "punctuation": PATTERNS["COMMA"] + "|" + PATTERNS["EQUAL"],
    "open_comment": r"/\*(?s:.*)",
    "open_string": r"'(?s:.*)",
    "open_name": r'"(?s:.*)',
    "other": r"(?s:.)",
}
_LEXEME: Final = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))


class Lexeme(NamedTuple):
    """A piece of text by its kind and its offsets."""

    kind: Kind
    start: int
    end: int


def scan(text: str, start: int = 0) -> Iterator[Lexeme]:
    """Cut `text` into lexemes from the offset `start` to its end. Never raises."""
    for match in _LEXEME.finditer(text, start):
        yield Lexeme(cast("Kind", match.lastgroup), match.start(), match.end())


def is_bare(segment: str) -> bool:
    """Tell whether a segment of a name can be written without quotes: a word, not a keyword."""
    return '"' not in segment and "." not in segment and NAME.fullmatch(segment) is not None


def quote(segment: str) -> str:
    """Write a segment, or a whole name, in double quotes."""
    return '"' + segment.replace('"', '""') + '"'


def unquote(name: str) -> str:
    """Give the dotted name that the text of a name stands for."""
    if '"' not in name:
        return str(name)  # a token of Lark's is text with a position, which commands must not keep
    return ".".join(_segments(name))


def _segments(name: str) -> Iterator[str]:
    for match in SEGMENT.finditer(name):
        quoted = match.group(1)
        yield match.group() if quoted is None else quoted.replace('""', '"')
