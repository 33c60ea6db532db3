"""A script cut into its statements, by its lexemes alone: nothing is parsed here, so nothing can fail."""

from collections.abc import Iterator
from typing import NamedTuple

from dex.wcl.lexemes import scan

BLANK = frozenset({"space", "comment"})


class Span(NamedTuple):
    """One statement of a script, from its first word up to and without its `;`.

    `line` and `column` count from 1, `offset` from 0; `terminated` tells whether a `;` ends it. `source` is
    the whole script, for errors that show its lines.
    """

    text: str
    line: int
    column: int
    offset: int
    terminated: bool
    source: str


def split(text: str) -> list[Span]:
    """Cut a script into statements (spec: W-04). Empty ones, and comments between them, give no span."""
    spans: list[Span] = []
    line, counted = 1, 0
    line_start = int(text.startswith("\ufeff"))
    for begin, end, terminated in _bounds(text):
        if newlines := text.count("\n", counted, begin):
            line += newlines
            line_start = text.rindex("\n", counted, begin) + 1
        counted = begin
        spans.append(Span(text[begin:end], line, begin - line_start + 1, begin, terminated, text))
    return spans


def _bounds(text: str) -> Iterator[tuple[int, int, bool]]:
    """Give the offsets of each statement, and whether a `;` ends it."""
    begin = end = -1
    for kind, start, stop in scan(text):
        if kind == "semicolon":
            if begin >= 0:
                yield begin, end, True
            begin = -1
        elif kind not in BLANK:
            begin, end = (start if begin < 0 else begin), stop
    if begin >= 0:
        yield begin, end, False


def is_complete(text: str) -> bool:
    """Tell whether the last statement of a text is ended by a `;` that is not in a string, name or comment.

    A text without any statement is not complete.
    """
    spans = split(text)
    return bool(spans) and spans[-1].terminated
