"""Errors as JSON, and JSON as errors (spec: X-03)."""

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from dex.wcl import errors
from dex.wcl.errors import DexError
from dex.wcl.values import value_to_json


def error_to_json(error: DexError) -> dict[str, Any]:
    """Give kind, message, remedy and facts of an error in the forms that JSON has."""
    return {name: _fact(value) for name, value in error.as_dict().items()}


def _fact(value: Any) -> Any:
    """Give a fact, which a handler may have made of anything, with text for the numbers that JSON has not."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _fact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_fact(inner) for inner in value]
    return value_to_json(value)


def error_to_wire(error: DexError) -> dict[str, Any]:
    """Give what `error_to_json` gives, and the error's class as `type`, so that `error_from_wire` can make it again."""
    known = next(kind for kind in type(error).__mro__ if kind.__name__ in _classes())
    return {"type": known.__name__, **error_to_json(error)}


def error_from_wire(told: Mapping[str, Any]) -> DexError:
    """Make the error that `error_to_wire` told."""
    facts = {name: value for name, value in told.items() if name not in ("type", "kind", "message", "remedy")}
    kind = _classes().get(str(told.get("type")), DexError)
    error = kind.__new__(kind)
    # The constructors of some take other arguments; what they made of them is among the facts.
    DexError.__init__(error, str(told.get("message", "")), str(told.get("remedy", "")), **facts)
    return error


@cache
def _classes() -> dict[str, type[DexError]]:
    """Give every class of errors by its name."""
    return {kind.__name__: kind for kind in _below(DexError)}


def _below(kind: type[DexError]) -> Iterator[type[DexError]]:
    if kind.__module__ == errors.__name__:
        yield kind
        for child in kind.__subclasses__():
            yield from _below(child)
