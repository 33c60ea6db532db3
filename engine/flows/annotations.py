"""What the author of a Flow has written about its handlers: types, parameters and timeouts."""

import inspect
import sys
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from dex.wcl.errors import FlowDefinitionError


def generic_argument(cls: type, base: type) -> Any:
    """Give what a class puts for the parameter of a generic base, `Order` for `Step[Order]`; Any for nothing."""
    for parent in cls.__mro__:
        for generic in parent.__dict__.get("__orig_bases__", ()):
            if get_origin(generic) is base:
                argument = get_args(generic)[0]
                return Any if isinstance(argument, TypeVar) else resolved(argument, parent)
    return Any


def resolved(annotation: Any, owner: Any) -> Any:
    """Give an annotation as a type; text is read in the module of `owner`, a class or function.

    Raises:
        FlowDefinitionError: it names something that is not there.
    """
    names = getattr(owner, "__globals__", None) or vars(sys.modules[owner.__module__])
    holder = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return get_type_hints(holder, globalns=names, include_extras=True)["it"]
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raise FlowDefinitionError(
            f"the annotation {annotation!r} of {owner.__qualname__} is no type: {error}",
            "import its names at the top of the module, not only for type checking",
        ) from error


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Give the parameters of a method, without self."""
    return list(inspect.signature(function).parameters.values())[1:]


def annotation_of(parameter: inspect.Parameter, function: Callable[..., Any]) -> Any:
    """Give the type of a parameter, Any where none is written."""
    written = parameter.annotation
    return Any if written is inspect.Parameter.empty else resolved(written, function)


def check_timeout(timeout: timedelta | None, what: str) -> None:
    """Refuse a timeout that is not above zero; None is fine.

    Raises:
        FlowDefinitionError: naming `what` has the timeout.
    """
    if timeout is not None and timeout <= timedelta(0):
        raise FlowDefinitionError(f"the timeout of {what} is {timeout}", "pass a timedelta above zero")
