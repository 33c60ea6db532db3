"""Where something stands in a script, and how to show it: the line with a caret under the column."""

import re
import unicodedata
from typing import Any

from dex.wcl.errors import DexError

MAX_LINE = 160
_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def locate(source: str, offset: int) -> dict[str, Any]:
    """Give the facts of a place: `line` and `column` from 1, and `source_line`.

    A line longer than 160 characters is cut around the place; `source_column` is then the column in the cut.
    """
    begin = source.rfind("\n", 0, offset) + 1
    end = source.find("\n", offset)
    line = source[begin : len(source) if end < 0 else end].rstrip("\r")
    column = offset - begin
    if begin == 0 and line.startswith("\ufeff"):
        line, column = line[1:], max(0, column - 1)
    facts = {"line": source.count("\n", 0, offset) + 1, "column": column + 1}
    if len(line) <= MAX_LINE:
        return {**facts, "source_line": visible(line)}
    left = max(0, column - MAX_LINE // 2)
    cut = ("…" if left else "") + line[left : left + MAX_LINE] + ("…" if left + MAX_LINE < len(line) else "")
    return {**facts, "source_line": visible(cut), "source_column": column - left + 1 + bool(left)}


def visible(text: str) -> str:
    """Give a text that is safe to print: what a terminal would obey or cannot encode becomes U+FFFD."""
    return _UNSAFE.sub("\ufffd", text)


def caret(error: DexError) -> str:
    """Give the source line of an error and below it a caret, or an empty string where the error has no place.

    The caret stands right in a terminal that shows wide characters in two cells (spec: W-06).
    """
    line = error.facts.get("source_line")
    if line is None:
        return ""
    column = error.facts.get("source_column", error.facts["column"])
    before = line[: column - 1]
    padding = "".join("\t" if character == "\t" else " " * _cells(character) for character in before)
    return f"{line}\n{padding}^"


def _cells(character: str) -> int:
    """Give how many cells of a terminal a character takes."""
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
