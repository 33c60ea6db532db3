"""Proving that stored bytes can be read as a declared type, without making the values that reading would make.

A dataclass's instances cost more than all the rest of reading. A proof is also that integers of the type `int` are of
64 bits, which reading is not. Where a proof fails, reading tells why, or a look at the numbers does.
"""

from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from dex.wcl.values import I64_MAX

_INT64 = Annotated[int, msgspec.Meta(le=I64_MAX)]


def prover(declared: Any) -> msgspec.msgpack.Decoder[Any] | None:
    """Give what reads MessagePack as `declared` and raises a ValidationError where it may not fit.

    None is for a type that nothing is faster for than reading it.
    """
    try:
        lean = _lean(declared)
        return None if lean is declared else msgspec.msgpack.Decoder(lean)
    except (TypeError, NameError, RecursionError):  # the last where a type is part of itself
        return None


def _lean(declared: Any) -> Any:
    """Give a type that the same bytes fit, with msgspec's own structs for dataclasses."""
    if declared is int:
        return _INT64
    if isinstance(declared, type) and is_dataclass(declared):
        return _struct(declared)
    arguments = get_args(declared)
    origin = get_origin(declared)
    if origin not in (list, dict, tuple, Union, UnionType):
        return declared
    lean = tuple(_lean(argument) for argument in arguments)
    if lean == arguments:
        return declared
    return Union[lean] if origin in (Union, UnionType) else origin[lean]  # noqa: UP007  # made from a tuple


@cache
def _struct(declared: type) -> Any:
    # What it does after its making may refuse a value, so that only making one tells.
    if hasattr(declared, "__post_init__"):
        return declared
    hints = get_type_hints(declared, include_extras=True)
    of_fields = [(field.name, _lean(hints[field.name])) for field in fields(declared)]
    # What other fields have, those of a subclass's instance, would not be proven.
    return msgspec.defstruct(declared.__name__, of_fields, gc=False, forbid_unknown_fields=True)
