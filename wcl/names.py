"""Names of stores, feeds and named keys: what is allowed, and which known name is nearest to a wrong one."""

from collections.abc import Iterable

from dex.wcl.errors import InvalidCommand

MAX_NAME_BYTES = 255


def check_name(name: str, what: str) -> None:
    """Refuse a dotted name that is empty, too long, or has an empty segment or a control character.

    `what` names the thing in the message, such as "store name".

    Raises:
        InvalidCommand: with facts `name`.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidCommand(f"a {what} cannot be blank", "give it a name such as accounts.employees", name=name)
    problem = _problem(name)
    if problem:
        raise InvalidCommand(f"the {what} {name!r} {problem}", "choose another name", name=name)
    if any(not segment.strip() for segment in name.split(".")):
        raise InvalidCommand(
            f"the {what} {name!r} has an empty segment", "write segments with one dot between them", name=name
        )


def check_key_name(name: str) -> None:
    """Refuse a named key's name that is blank, too long or has a control character (spec: W-07).

    Raises:
        InvalidCommand: with facts `name`.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidCommand("a named key cannot be blank", "up to 10 keys with distinct names may be declared", name=name)
    problem = _problem(name)
    if problem:
        raise InvalidCommand(f"the named key {name!r} {problem}", "choose another name", name=name)


def _problem(name: str) -> str | None:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "is not valid Unicode text"
    if size > MAX_NAME_BYTES:
        return f"has {size} bytes, and {MAX_NAME_BYTES} is the limit"
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in name):
        return "has a control character"
    return None


def nearest(word: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Give up to `limit` known names that look like `word`, the nearest first; case does not count."""
    from difflib import get_close_matches

    by_folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    return [by_folded[match] for match in get_close_matches(word.casefold(), by_folded, limit, 0.6)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Give "did you mean X?" for the nearest known name, or an empty string."""
    found = nearest(word, known, 1)
    return f"did you mean {found[0]}?" if found else ""
