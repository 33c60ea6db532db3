"""What may be typed next in WCL: a pure function of the text, the cursor and the names that exist (spec: P-01)."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, Protocol, TypeAlias

from dex.wcl.format import format_name
from dex.wcl.lexemes import Lexeme, scan, unquote
from dex.wcl.table import KEYWORDS

NameKind: TypeAlias = Literal["store", "feed", "key"]
WORD = frozenset({"keyword", "name", "open_name", "other"})


class Suggestion(NamedTuple):
    """A text to put in place of what stands from the offset `start` to the cursor, and what it is."""

    text: str
    kind: Literal["keyword", "store", "feed", "key"]
    start: int


class Names(Protocol):
    """The names that exist; each method is called only when its names are wanted."""

    def stores(self) -> Iterable[str]:
        """Give the names of the StateStores."""

    def feeds(self) -> Iterable[str]:
        """Give the names of the Feeds."""

    def keys(self) -> Iterable[str]:
        """Give the names of the named keys of all stores."""


def complete(text: str, cursor: int, names: Names) -> list[Suggestion]:
    """Suggest what may stand at the cursor: names first, then keywords, each as it would be written.

    Inside a comment or a string nothing is suggested. Never raises for a text, however wrong.
    """
    before = text[:cursor]
    lexemes = list(scan(before))
    if lexemes and _takes_no_completion(before, lexemes[-1]):
        return []
    statement = max((lexeme.end for lexeme in lexemes if lexeme.kind == "semicolon"), default=0)
    start = _word_start(lexemes, cursor=len(before))
    accepted = _accepted(before[statement:start])
    word = before[start:]
    return [
        *(Suggestion(name, kind, start) for name, kind in _matching_names(word, accepted, names)),
        *(Suggestion(keyword, "keyword", start) for keyword in _matching_keywords(word, accepted)),
    ]


def _takes_no_completion(text: str, last: Lexeme) -> bool:
    """Tell whether the text ends in a comment or a string; a closed one of either ends before the cursor."""
    if last.kind == "comment":
        return text.startswith("--", last.start)
    return last.kind in {"open_comment", "open_string"}


def _word_start(lexemes: list[Lexeme], cursor: int) -> int:
    """Find where the half-typed word begins; `eu:ord` counts as one word, as a quoted name is to replace it."""
    start = cursor
    for lexeme in reversed(lexemes):
        if lexeme.kind not in WORD:
            break
        start = lexeme.start
    return start


def _accepted(statement: str) -> set[str]:
    """Ask the grammar which terminals may follow the start of a statement."""
    from lark import UnexpectedInput

    from dex.wcl.parser import lark_parser

    interactive = lark_parser().parse_interactive(statement)
    try:
        interactive.exhaust_lexer()
    except UnexpectedInput:
        return set()
    accepted: set[str] = interactive.accepts()  # type: ignore[no-untyped-call]  # Lark leaves it untyped
    return accepted


def _matching_names(word: str, accepted: set[str], names: Names) -> Iterator[tuple[str, NameKind]]:
    sources: tuple[tuple[str, NameKind, Callable[[], Iterable[str]]], ...] = (
        ("STORE_NAME", "store", names.stores),
        ("FEED_NAME", "feed", names.feeds),
        ("KEY_NAME", "key", names.keys),
    )
    beginning = _name_beginning(word)
    for terminal, kind, known in sources:
        if terminal in accepted:
            matching = (name for name in known() if name.casefold().startswith(beginning))
            yield from ((format_name(name), kind) for name in sorted(set(matching)))


def _name_beginning(word: str) -> str:
    """Give the dotted name that a half-typed word begins, case folded; a quote may still be open."""
    is_open = any(lexeme.kind == "open_name" for lexeme in scan(word))
    return unquote(word + '"' if is_open else word).casefold() if '"' in word else word.casefold()


def _matching_keywords(word: str, accepted: set[str]) -> Iterator[str]:
    upper = word.upper()
    return (keyword for keyword in KEYWORDS if keyword in accepted and keyword.startswith(upper))
