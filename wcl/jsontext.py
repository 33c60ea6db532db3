"""JSON texts: read strictly, so that an object with a name twice is refused instead of losing one of the values."""

from collections.abc import Iterator
from typing import Any

import msgspec

from dex.wcl.errors import InputError
from dex.wcl.values import nested_too_deeply


def read_json(data: bytes | str, what: str, remedy: str) -> Any:
    """Read a document; `what` and `remedy` are for an error.

    Raises:
        InputError: it is not JSON, a number is out of range, or a name is given twice, with the path of it.
    """
    try:
        document = msgspec.json.decode(data)
    except RecursionError as error:
        raise nested_too_deeply(what) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(f"{what} is not JSON: {error}", remedy) from error
    refuse_repeated_names(data, document, what)
    return document


def refuse_repeated_names(data: bytes | str, document: Any, what: str, *, nested: bool = True) -> None:
    """Refuse JSON in which an object has a name twice; without `nested` only the outermost object counts.

    `document` is what was read of it, in which the last value of such a name is left.

    Raises:
        InputError: with the path of the name as fact `path`.
    """
    if _has_all_colons(data if isinstance(data, bytes) else data.encode(), document):
        return
    try:
        _load(data, _distinct)
    except _RepeatedName:
        path = _first_repeated(_load(data, _Pairs), "$", nested)
        if path is not None:
            raise InputError(f"{what} has {path} twice", "give each name one value", path=path) from None
    except RecursionError as error:
        raise nested_too_deeply(what) from error


def _has_all_colons(data: bytes, document: Any) -> bool:
    """Tell whether every colon of the text is in the document, so that no member of it was lost.

    This is many times faster than to read the text once more. Where a colon may be written as an escape the answer
    is no, as it is where something was lost.
    """
    try:
        return b"\\u" not in data and data.count(b":") == _colons(document)
    except RecursionError:
        return False


def _colons(node: Any) -> int:
    """Count the colons that the members and texts of a document are written with."""
    if isinstance(node, str):
        return node.count(":")
    count = 0
    if isinstance(node, dict):
        for name, value in node.items():
            count += 1 + name.count(":") + (value.count(":") if value.__class__ is str else _colons(value))
    elif isinstance(node, list):
        for item in node:
            count += _colons(item)
    return count


class _RepeatedName(Exception):
    """An object has a name twice; where it stands in the document is not known yet."""


class _Pairs(list[tuple[str, Any]]):
    """The members of an object as they are written."""


def _load(data: bytes | str, object_pairs_hook: Any) -> Any:
    import json

    # Numbers are left as text: Python refuses to read very long ones.
    return json.loads(data, object_pairs_hook=object_pairs_hook, parse_int=str, parse_float=str)


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len(dict(pairs)) < len(pairs):
        raise _RepeatedName


def _first_repeated(node: Any, path: str, nested: bool) -> str | None:
    """Give the path of the first name that its object has already."""
    seen: set[str] = set()
    for here, name, value in _children(node, path):
        if name in seen:
            return here
        if name is not None:
            seen.add(name)
        found = _first_repeated(value, here, nested) if nested else None
        if found is not None:
            return found
    return None


def _children(node: Any, path: str) -> Iterator[tuple[str, str | None, Any]]:
    """Give path, name and value of what an object or list holds; items of a list have no name."""
    if isinstance(node, _Pairs):
        yield from ((f"{path}.{name}", name, value) for name, value in node)
    elif isinstance(node, list):
        yield from ((f"{path}[{index}]", None, value) for index, value in enumerate(node))
