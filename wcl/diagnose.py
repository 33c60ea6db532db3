"""Lark's errors in plain words (spec: W-06, W-10)."""

import re
from typing import Any, NamedTuple

from lark import Token, UnexpectedInput, UnexpectedToken

from dex.wcl.errors import WclSyntaxError
from dex.wcl.lexemes import quote, scan
from dex.wcl.names import MAX_NAME_BYTES, nearest
from dex.wcl.source import locate, visible
from dex.wcl.statements import BLANK, Span
from dex.wcl.table import KEYWORDS

WORDS = {
    "STORE_NAME": "a store name",
    "FEED_NAME": "a feed name",
    "KEY_NAME": "a key name",
    "STRING": "text in single quotes",
    "EQUAL": "=",
    "COMMA": "a comma",
    "SEMICOLON": ";",
}
"""How each terminal is called before people; a keyword is called by itself."""

ORDER = ("STORE_NAME", "FEED_NAME", "KEY_NAME", "STRING", *KEYWORDS, "EQUAL", "COMMA", "SEMICOLON")
ENDS = frozenset({"$END", "SEMICOLON"})
NAMES = frozenset({"STORE_NAME", "FEED_NAME", "KEY_NAME"})
MAX_FOUND = 40

ELSEWHERE = {
    "PUT": "dex store put",
    "INSERT": "dex store put",
    "UPSERT": "dex store put",
    "UPDATE": "dex store put",
    "GET": "dex store get",
    "SELECT": "dex store get",
    "DELETE": "dex store delete",
    "CLEAR": "dex store clear",
    "TRUNCATE": "dex store clear",
    "PAGE": "dex store page",
    "SCAN": "dex store page",
    "ITERATE": "dex store iterate",
    "REBUILD": "dex store rebuild",
    "IMPORT": "dex store import",
    "EXPORT": "dex store export",
    "APPEND": "dex feed append",
    "TAIL": "dex feed tail",
}
"""What people try to say in WCL, and the command that does it."""

OTHER_VERBS = {"CREATE": "DEFINE", "DESC": "DESCRIBE", "LIST": "SHOW", "REMOVE": "DROP"}


class Diagnosis(NamedTuple):
    """What is wrong, what to do about it, and what to write instead."""

    problem: str
    remedy: str = ""
    suggestion: str | None = None


def syntax_error(error: UnexpectedInput, span: Span) -> WclSyntaxError:
    """Translate what Lark says about the text of `span`; lines and columns are those of the whole script."""
    accepted = _accepted(error)
    expected = [WORDS.get(name, name) for name in ORDER if name in accepted]
    start: Any  # always a number, though Lark types it as optional
    if not isinstance(error, UnexpectedToken):
        start = error.pos_in_stream
        diagnosis = _unexpected_character(span.text, start)
    elif error.token.type in ENDS:
        start = _end_of_last_word(span.text, error.token)
        diagnosis = Diagnosis(f"expected {_either(expected)}")
    else:
        start = error.token.start_pos
        diagnosis = _unexpected_token(error.token, accepted, expected)
    if not diagnosis.remedy and accepted in ({"NOT"}, {"EXISTS"}):
        diagnosis = _named_if(span.text[:start], diagnosis)
    facts = locate(span.source, span.offset + start)
    return WclSyntaxError(
        f"line {facts['line']}, column {facts['column']}: {diagnosis.problem}",
        diagnosis.remedy,
        **facts,
        expected=expected,
        suggestion=diagnosis.suggestion,
    )


def _accepted(error: UnexpectedInput) -> set[str]:
    """Give the terminals that could have stood where the error is."""
    interactive: Any = error.interactive_parser  # Lark sets it on what a parser raises, and leaves it untyped
    accepted: set[str] = interactive.accepts()
    return accepted


def _end_of_last_word(text: str, end: Token) -> int:
    """Find where something is missing: after the last word, not where Lark met the end of the statement."""
    before = text if end.type == "$END" else text[: end.start_pos]
    return max((lexeme.end for lexeme in scan(before) if lexeme.kind not in BLANK), default=0)


def _unexpected_token(token: Token, accepted: set[str], expected: list[str]) -> Diagnosis:
    word = token.upper()
    if "DEFINE" in accepted and word in ELSEWHERE:
        command = ELSEWHERE[word]
        return Diagnosis(f"{word} is not WCL, which has no operations on rows and records", f"use `{command}`", command)
    found = visible(token if len(token) <= MAX_FOUND else token[:MAX_FOUND] + "…")
    problem = f"expected {_either(expected)}, found {found}"
    if token.type in KEYWORDS and accepted & NAMES:
        return _quote_keyword(problem, token)
    if token.type == "STRING" and accepted & NAMES:
        return _suggest(problem, quote(token[1:-1].replace("''", "'")))
    if token.type in NAMES and "STRING" in accepted:
        return _suggest(problem, "'" + token.strip('"').replace("'", "''") + "'")
    suggestion = _nearest_keyword(token, [word for word in expected if word in KEYWORDS])
    return _suggest(problem, suggestion) if suggestion else Diagnosis(problem)


def _named_if(before: str, diagnosis: Diagnosis) -> Diagnosis:
    """Say how to write a name that was read as the IF of IF EXISTS, if that is the last word `before` the error."""
    last = max((lexeme for lexeme in scan(before) if lexeme.kind not in BLANK), key=lambda lexeme: lexeme.end)
    word = before[last.start : last.end]
    return _quote_keyword(diagnosis.problem, word) if word.upper() == "IF" else diagnosis


def _quote_keyword(problem: str, word: str) -> Diagnosis:
    return Diagnosis(problem, f"{word} is a keyword; to use it as a name write {quote(word)}", quote(word))


def _suggest(problem: str, suggestion: str) -> Diagnosis:
    text = visible(suggestion)
    if len(text) > MAX_NAME_BYTES:
        return Diagnosis(problem)
    return Diagnosis(problem, f"did you mean {text}?", text)


def _nearest_keyword(word: str, keywords: list[str]) -> str | None:
    """Give what was probably meant: a keyword and the next word, a verb of this language, or a near word."""
    word = word[:MAX_NAME_BYTES]
    upper = word.upper()
    for keyword in keywords:
        rest = word[len(keyword) :]
        if upper.startswith(keyword) and len(rest) > 1:
            return f"{keyword} {rest}"
    if OTHER_VERBS.get(upper) in keywords:
        return OTHER_VERBS[upper]
    return next(iter(nearest(word, keywords, 1)), None)


def _either(words: list[str]) -> str:
    """Join words as in "a, b or c"; at the start of a statement a `;` is not worth telling."""
    if words[0] == "DEFINE":
        words = [word for word in words if word != ";"]
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _unexpected_character(text: str, start: int) -> Diagnosis:
    opening = text[start : start + 2]
    for mark, what, end in UNCLOSED:
        if opening.startswith(mark):
            return Diagnosis(f"this {what} is never closed", f"end it with {end}")
    character = text[start]
    if character == ".":
        return Diagnosis("a dot stands between two segments of a name", "write a name such as accounts.employees")
    problem = f"unexpected character {_character(character)}"
    word = _word_around(text, start)
    if word == character or not word.isprintable():
        return Diagnosis(problem, "leave it out, or put the name in double quotes")
    return Diagnosis(problem, f"to use it in a name write {quote(word)}", quote(word))


UNCLOSED = (("/*", "comment", "*/"), ("'", "text", "'"), ('"', "quoted name", '"'))


def _character(character: str) -> str:
    if character.isprintable():
        return character
    return f"U+{ord(character):04X}"


def _word_around(text: str, start: int) -> str:
    """Give the run of characters around an offset that was probably meant as one name."""
    before = _BEFORE.search(text[max(0, start - MAX_NAME_BYTES) : start])
    after = _AFTER.match(text[start : start + MAX_NAME_BYTES])
    return (before.group() if before else "") + (after.group() if after else "")


_BEFORE = re.compile(r"""[^\s;,='"]*\Z""")
_AFTER = re.compile(r"""[^\s;,='"]*""")
