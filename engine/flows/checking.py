"""Arguments of the SDK against their annotations, so that a wrong one is told before anything is done.

A mistake such as two arguments in the wrong order would else come to light as an AttributeError somewhere inside.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, cast, get_type_hints

from dex.engine.flows.kinds import Kind, kind_of
from dex.wcl.errors import InvalidCommand

F = TypeVar("F", bound=Callable[..., Any])

MAX_SHOWN = 60
_MAX_REMEMBERED = 256
_PLAIN = (str, bytes, bool, int, float, list, tuple, dict)


def checked(example: str) -> Callable[[F], F]:
    """Have a function refuse arguments that its annotations do not allow.

    `example` is a right call, for the error; one that begins with a parenthesis goes on after the name of the class
    that the first argument is an instance of.

    Raises:
        InvalidCommand: saying which argument it is, what was given, what is expected and how a right call looks.
    """

    def decorate(function: F) -> F:
        # Classes of arguments that were accepted, for every call comes by here.
        right: set[tuple[type, ...]] = set()

        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            classes = (*map(type, arguments),)
            if named or classes not in right:
                by_class = _check(function, example, arguments, named)
                if by_class and not named and len(right) < _MAX_REMEMBERED:
                    right.add(classes)
            return function(*arguments, **named)

        return cast("F", call)

    return decorate


def _check(function: Callable[..., Any], example: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Refuse wrong arguments; tell whether positional ones of the same classes are right as well.

    Raises:
        InvalidCommand: as `checked`.
    """
    parameters = _parameters(function)
    by_class = True
    for parameter, value in zip(parameters.by_position(arguments), arguments, strict=False):
        if parameter is None:
            continue
        if not parameter.kind.takes(value):
            raise _wrong(parameter, value, example, arguments[0])
        by_class &= parameter.kind.by_class
    for name, value in named.items():
        parameter = parameters.by_name.get(name)
        if parameter is not None and not parameter.kind.takes(value):
            raise _wrong(parameter, value, example, next(iter(arguments), None))
    return by_class


def check_fields(record: Any, example: str) -> None:
    """Refuse a dataclass's instance with a field that its annotation does not allow; `example` is as for `checked`.

    Raises:
        InvalidCommand: as `checked`.
    """
    for field in _fields(type(record)):  # type: ignore[arg-type]  # mypy takes the hash of instances for the class's
        value = getattr(record, field.name)
        if not field.kind.takes(value):
            raise _wrong(field, value, example, record)


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class _Parameters:
    """Those of a function that are checked; `rest` is for `*arguments`, and None stands for what accepts anything."""

    positional: list[_Parameter | None]
    rest: _Parameter | None
    by_name: dict[str, _Parameter]

    def by_position(self, arguments: Sequence[Any]) -> list[_Parameter | None]:
        """Give those that the arguments are for."""
        more = len(arguments) - len(self.positional)
        return [*self.positional, *[self.rest] * more] if more > 0 else self.positional


@cache
def _parameters(function: Callable[..., Any]) -> _Parameters:
    known = {parameter.name: parameter for parameter in _known(function)}
    positional: list[_Parameter | None] = []
    rest = None
    for name, parameter in signature(function).parameters.items():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            rest = known.get(name)
        elif parameter.kind is not Parameter.KEYWORD_ONLY:
            positional.append(known.get(name))
    return _Parameters(positional, rest, known)


@cache
def _fields(record: type) -> list[_Parameter]:
    names = {field.name for field in fields(record)}
    return [field for field in _known(record) if field.name in names]


def _known(annotated: Any) -> list[_Parameter]:
    """Give what a function or class annotates, less what accepts anything."""
    hints = get_type_hints(annotated, localns=_PublicNames())
    kinds = {name: kind_of(hint) for name, hint in hints.items() if name != "return"}
    return [_Parameter(name, kind) for name, kind in kinds.items() if kind is not None]


class _PublicNames(dict[str, Any]):
    """The public names by need, for annotations that are text since what they name is imported late."""

    def __missing__(self, name: str) -> Any:
        import dex

        if name in dex.__all__:
            return getattr(dex, name)
        raise KeyError(name)


def _wrong(parameter: _Parameter, value: Any, example: str, owner: Any) -> InvalidCommand:
    """Give the error for a value, or for the first item of it that is wrong."""
    name, kind = parameter.name, parameter.kind
    if kind.item is not None and isinstance(value, list | tuple | Mapping):
        takes = kind.item.takes
        found = next((entry for entry in enumerate(value) if not takes(entry[1])), None)
        if found is not None:
            name, kind, value = f"{name}[{found[0]}]", kind.item, found[1]
    call = f"{type(owner).__name__}{example}" if example.startswith("(") else example
    return InvalidCommand(
        f"{call.partition('(')[0]}: {name} is {_shown(value)}, and {kind.words} is expected", f"write {call}"
    )


def _shown(value: Any) -> str:
    """Give a value as people name it: `the class Ship`, `an instance of OrderFlow`, `the str 'order-1'`."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if repr(value) == object.__repr__(value):
        return f"an instance of {type(value).__name__}"
    text = repr(value)
    cut = text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
    return f"the {type(value).__name__} {cut}" if type(value) in _PLAIN else cut
