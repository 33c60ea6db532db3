"""What an annotation accepts, as a test of values and in words."""

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin

Test = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Kind:
    """A test and its words, such as "timedelta or None"; that of a container also has the kind of its items."""

    accepts: Test
    words: str
    item: "Kind | None" = None


def kind_of(hint: Any) -> Kind | None:
    """Give the kind of an annotation, None for one that accepts anything."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return None
    if origin in (Union, types.UnionType):
        return _union([kind_of(one) for one in inner])
    if origin is type:
        return _class(inner[0])
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(kind_of(inner[0]))
    if origin is not None and issubclass(origin, Iterable) and inner:
        return _items(origin, kind_of(inner[0]))
    return _instance(origin or hint)


def _union(kinds: list[Kind | None]) -> Kind | None:
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    tests = [kind.accepts for kind in known]
    item = next((kind.item for kind in known if kind.item is not None), None)
    *others, last = dict.fromkeys(kind.words for kind in known)
    words = f"{', '.join(others)} or {last}" if others else last
    return Kind(lambda value: any(test(value) for test in tests), words, item)


def _class(hint: Any) -> Kind:
    if isinstance(hint, TypeVar):
        return Kind(_is_type, "a type")
    base = get_origin(hint) or hint
    return Kind(lambda value: isinstance(value, type) and issubclass(value, base), f"a subclass of {base.__name__}")


def _is_type(value: Any) -> bool:
    """Tell whether a value can be an annotation: a class, None, or what Python makes of types, as `int | None`."""
    return isinstance(value, type) or value is None or type(value).__module__ in ("types", "typing")


def _mapping(key: Kind | None) -> Kind:
    """Give the kind of a mapping, whose keys are its items."""
    accepts = _all(key)
    return Kind(lambda value: isinstance(value, Mapping) and accepts(value), "dict", key)


def _items(origin: type, item: Kind | None) -> Kind:
    """Give the kind of a list, tuple or the like; text is none, though Python takes it for a sequence of letters."""
    accepts = _all(item) if issubclass(origin, Sequence) else _anything  # to look at an iterator would use it up
    base = Sequence if issubclass(origin, Sequence) else origin
    words = "a list or tuple" if item is None else f"a list or tuple of {item.words}"
    return Kind(
        lambda value: isinstance(value, base) and not isinstance(value, str | bytes) and accepts(value), words, item
    )


def _all(item: Kind | None) -> Test:
    if item is None:
        return _anything
    accepts = item.accepts
    return lambda values: all(map(accepts, values))


def _anything(_value: Any) -> bool:
    return True


def _instance(cls: type) -> Kind:
    if getattr(cls, "_is_protocol", False):
        parts = [name for name in vars(cls) if not name.startswith("_")]
        return Kind(lambda value: all(hasattr(value, part) for part in parts), _words(cls))
    if cls in (int, float):
        allowed = (int, float) if cls is float else int
        return Kind(lambda value: isinstance(value, allowed) and value.__class__ is not bool, _words(cls))
    return Kind(lambda value: isinstance(value, cls), _words(cls))


def _words(cls: type) -> str:
    if cls is types.NoneType:
        return "None"
    name = cls.__name__
    members = f" ({', '.join(cls.__members__)})" if issubclass(cls, Enum) else ""
    return f"{name}{members}"
