"""What an annotation accepts, as a test of values and in words."""

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin

Test = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Kind:
    """A test and its words, such as "timedelta or None"; that of a container also has the kind of its items.

    `classes` are those whose own instances pass the test, so that it need not be run. The test of one that is
    `by_class` tells the same of all instances of a class.
    """

    accepts: Test
    words: str
    classes: frozenset[type] = frozenset()
    item: "Kind | None" = None
    by_class: bool = False

    def takes(self, value: Any) -> bool:
        """Tell whether the annotation allows a value."""
        return value.__class__ in self.classes or self.accepts(value)


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
    classes = frozenset[type]().union(*(kind.classes for kind in known))
    by_class = all(kind.by_class for kind in known)
    return Kind(lambda value: any(test(value) for test in tests), words, classes, item, by_class)


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
    return Kind(lambda value: isinstance(value, Mapping) and _all(key, value), "dict", item=key)


def _items(origin: type, item: Kind | None) -> Kind:
    """Give the kind of a list, tuple or the like; text is none, though Python takes it for a sequence of letters."""
    base = Sequence if issubclass(origin, Sequence) else origin
    looked_at = item if base is Sequence else None  # to look at an iterator would use it up

    def accepts(value: Any) -> bool:
        listed = value.__class__ in (tuple, list) or (isinstance(value, base) and not isinstance(value, str | bytes))
        return listed and _all(looked_at, value)

    return Kind(accepts, "a list or tuple" if item is None else f"a list or tuple of {item.words}", item=item)


def _all(item: Kind | None, values: Iterable[Any]) -> bool:
    if item is not None:
        for value in values:
            if not item.takes(value):
                return False
    return True


def _instance(cls: type) -> Kind:
    if getattr(cls, "_is_protocol", False):
        (part,) = (name for name in vars(cls) if not name.startswith("_"))  # ours have one member each
        words = cls.__name__.removeprefix("Handler")  # people know Context
        return Kind(lambda value: hasattr(value, part), words, by_class=True)
    if cls in (int, float):
        allowed = (int, float) if cls is float else int
        return Kind(
            lambda value: isinstance(value, allowed) and value.__class__ is not bool,
            _words(cls),
            frozenset({cls}),
            by_class=True,
        )
    return Kind(lambda value: isinstance(value, cls), _words(cls), frozenset({cls}), by_class=True)


def _words(cls: type) -> str:
    if cls is types.NoneType:
        return "None"
    name = cls.__name__
    members = f" ({', '.join(cls.__members__)})" if issubclass(cls, Enum) else ""
    return f"{name}{members}"
