"""Names of stores, feeds and named keys: what is allowed, and which known name is nearest to a wrong one."""

import re
from collections.abc import Iterable
from typing import Any

from dex.wcl.errors import InvalidCommand

MAX_NAME_BYTES = 255
MAX_SHOWN = 60
_BAD_CHARACTER = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def check_name(name: Any, what: str) -> None:
    """Refuse a dotted name that is empty, too long, or has an empty segment or a control character.

    `what` names the thing in the message, such as "store name".

    Raises:
        InvalidCommand: with facts `name`.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidCommand(f"a {what} cannot be blank", "give it a name such as accounts.employees", name=name)
    problem = _problem(name)
    if problem:
        raise InvalidCommand(f"the {what} {_shown(name)} {problem}", "choose another name", name=name)
    if any(not segment.strip() for segment in name.split(".")):
        raise InvalidCommand(
            f"the {what} {_shown(name)} has an empty segment", "write segments with one dot between them", name=name
        )


def check_key_name(name: Any) -> None:
    """Refuse a named key's name that is blank, too long or has a control character (spec: W-07).

    Raises:
        InvalidCommand: with facts `name`.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidCommand(
            "a named key cannot be blank", "up to 10 keys with distinct names may be declared", named_key=name
        )
    problem = _problem(name)
    if problem:
        raise InvalidCommand(f"the named key {_shown(name)} {problem}", "choose another name", named_key=name)


def check_text(text: str, what: str) -> None:
    """Refuse a text with a lone surrogate or a control character, line breaks included.

    Raises:
        InvalidCommand: naming `what` and the text.
    """
    problem = _bad_character(text)
    if problem:
        raise InvalidCommand(f"the {what} {_shown(text)} {problem}", "leave it out")


def _shown(text: str) -> str:
    """Give a text as a literal, cut where it would fill the screen."""
    return repr(text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…")


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
    """Give up to `limit` known names that look like `word`, the nearest first; case does not count."""
    from difflib import get_close_matches

    by_folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    return [by_folded[match] for match in get_close_matches(word.casefold(), by_folded, limit, 0.6)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Give "did you mean X?" for the nearest known name, or an empty string."""
    found = nearest(word, known, 1)
    return f"did you mean {found[0]}?" if found else ""
