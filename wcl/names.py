"""Names of stores, feeds and named keys: what is allowed, and which known name is nearest to a wrong one."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dex.wcl.errors import InvalidCommand
from dex.wcl.shown import shown

if TYPE_CHECKING:
    from difflib import SequenceMatcher

MAX_NAME_BYTES = 255
TEMPORARY = "dex.smoke."
"""How names begin that are forgotten when they are dropped, of which no two are ever the same."""

_ALIKE = 0.6
_ALIKE_SEGMENT = 0.8
_LAST_SEGMENT_COUNTS = 0.95
_BAD_CHARACTER = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def check_name(name: Any, what: str) -> None:
    """Refuse a dotted name that is empty, too long, or has an empty segment or a control character.

    `what` names the thing in the message, such as "store name".

    Raises:
        InvalidCommand: with facts `name`.
    """
    if name is None or (isinstance(name, str) and not name.strip()):
        raise InvalidCommand(f"a {what} cannot be blank", "give it a name such as accounts.employees", name=name)
    check_is_text(name, f"a {what}")
    problem = _problem(name)
    if problem:
        raise InvalidCommand(f"the {what} {shown(name)} {problem}", "choose another name", name=name)
    if any(not segment.strip() for segment in name.split(".")):
        raise InvalidCommand(
            f"the {what} {shown(name)} has an empty segment", "write segments with one dot between them", name=name
        )


def check_key_name(name: Any) -> None:
    """Refuse a named key's name that is blank, too long or has a control character (spec: W-07).

    Raises:
        InvalidCommand: with facts `name`.
    """
    if name is None or (isinstance(name, str) and not name.strip()):
        raise InvalidCommand(
            "a named key cannot be blank", "up to 10 keys with distinct names may be declared", named_key=name
        )
    check_is_text(name, "the name of a named key")
    problem = _problem(name)
    if problem:
        raise InvalidCommand(f"the named key {shown(name)} {problem}", "choose another name", named_key=name)


def check_is_text(text: Any, what: str) -> None:
    """Refuse what is no text, as a program may pass it.

    Raises:
        InvalidCommand: naming `what`.
    """
    if not isinstance(text, str):
        raise InvalidCommand(f"{what} is text, not {type(text).__name__}", "pass a str")


def check_text(text: str, what: str) -> None:
    """Refuse a text with a lone surrogate or a control character, line breaks included.

    Raises:
        InvalidCommand: naming `what` and the text.
    """
    problem = _bad_character(text)
    if problem:
        raise InvalidCommand(f"the {what} {shown(text)} {problem}", "leave it out")


def _problem(name: str) -> str | None:
    problem = _bad_character(name)
    if problem:
        return problem
    size = len(name.encode())
    return f"has {size} bytes, and {MAX_NAME_BYTES} is the limit" if size > MAX_NAME_BYTES else None


def _bad_character(text: str) -> str | None:
    """Tell what keeps a text from being written on one line of UTF-8."""
    match = _BAD_CHARACTER.search(text)
    if match is None:
        return None
    return "is not valid Unicode text" if match.group() >= "\ud800" else "has a control character"


def nearest(word: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Give up to `limit` known names that look like `word`, the nearest first; case does not count.

    A dotted name also looks like one with the same last segment, though less than one that is alike as a whole.
    """
    return [name for _, name in _scored(word, known)[:limit]]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Give "did you mean X?" for the nearest known name, or names that are as near, or an empty string."""
    scored = _scored(word, known)
    names = [name for score, name in scored if score == scored[0][0]][:3]
    return f"did you mean {' or '.join(names)}?" if names else ""


def _scored(word: str, known: Iterable[str]) -> list[tuple[float, str]]:
    """Give the names that are near enough with how alike they are, up to 1, the nearest first."""
    from difflib import SequenceMatcher

    folded = word.casefold()
    whole, last = SequenceMatcher(b=folded), SequenceMatcher(b=folded.rpartition(".")[2])
    scored = []
    for name in {name.casefold(): name for name in sorted(known, reverse=True)}.values():
        whole.set_seq1(name.casefold())
        last.set_seq1(name.casefold().rpartition(".")[2])
        score = max(_ratio(whole, _ALIKE), _LAST_SEGMENT_COUNTS * _ratio(last, _ALIKE_SEGMENT))
        if score:
            scored.append((score, name))
    return sorted(scored, key=lambda entry: (-entry[0], entry[1]))


def _ratio(matcher: "SequenceMatcher[str]", least: float) -> float:
    """Give how alike two texts are, 0 if less than `least`; the cheap bounds spare most of the work."""
    if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
        return 0
    ratio = matcher.ratio()
    return ratio if ratio >= least else 0
