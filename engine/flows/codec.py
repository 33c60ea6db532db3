"""Values of Flows as stored bytes: MessagePack that keeps each value's kind (spec: FL-03).

Text, int64, double, bool, bytes, null and aware datetime keep their kind; dataclasses, dicts and lists are maps
and arrays under their Python field names, the kind "json". `encode` proves a value by reading what it wrote:
MessagePack is read faster than a value can be walked in Python, and the reader names the path of what is wrong.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import inspect

from dex.engine.flows.proving import prover
from dex.wcl.errors import FlowDefinitionError, ValueMappingError
from dex.wcl.shown import shown_error
from dex.wcl.values import I64_MAX

MAX_DEPTH = 200  # of lists and objects inside of one another; what is deeper could be stored, but not shown

_ENCODER = msgspec.msgpack.Encoder()
_UINT64, _FLOAT64, _NEVER_USED = 0xCF, 0xCB, 0xC1
_MARKED = bytes.maketrans(bytes([_UINT64, _FLOAT64]), bytes([_NEVER_USED] * 2))


class _Mapping:
    """How values of one declared type are checked and read."""

    __slots__ = ("decode", "instance_of", "name", "nests", "prove", "proves_numbers", "wants_float")

    def __init__(self, declared: Any) -> None:
        self.name = type_name(declared)
        self.decode = _decoder(declared)
        lean = prover(declared)
        self.prove = self.decode if lean is None else lean.decode
        alternatives = get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)
        self.wants_float = float in alternatives and int not in alternatives
        self.instance_of = declared if _is_record(declared) else None
        self.nests = _nests(inspect.type_info(declared))
        self.proves_numbers = lean is not None and not self.nests and _bounds_numbers(inspect.type_info(lean.type))


def encode(value: Any, declared_type: Any = Any) -> bytes:
    """Give the stored form of a value of `declared_type`, a type that `check_type` accepts.

    Raises:
        ValueMappingError: the value is not of that type, or no store can hold it (an integer outside 64 bits, NaN,
            an infinity, a datetime without zone, more than `MAX_DEPTH` lists and objects inside of one another).
    """
    mapping = _mapping(declared_type)
    if mapping.wants_float and value.__class__ is int:
        value = float(value)
    if mapping.instance_of is not None and not isinstance(value, mapping.instance_of):
        raise _mismatch("$", mapping.name, type(value).__name__)
    data = _pack(value, mapping)
    if value.__class__ is datetime and value.tzinfo is None:
        raise _refused("$", "a datetime with a zone", "is a datetime without one")
    if mapping.nests:
        _check_depth(data)
    _prove(data, mapping)
    return data


def _prove(data: bytes, mapping: _Mapping) -> None:
    try:
        mapping.prove(data)
        if mapping.proves_numbers:
            return
    except msgspec.ValidationError:
        try:
            mapping.decode(data)
        except msgspec.ValidationError as error:
            raise mapping_error(error) from error
    if _UINT64 in data or _FLOAT64 in data:
        _check_numbers(data)


def encode_as(value: Any, declared_type: Any, what: str) -> bytes:
    """Give what `encode` gives; an error says that it is about `what`, such as "input of Step Charge".

    Raises:
        ValueMappingError: as `encode`.
    """
    try:
        return encode(value, declared_type)
    except ValueMappingError as error:
        raise error.within(what) from error


def encode_input(value: Any, declared_type: Any, whose: str) -> bytes:
    """Give what `encode` gives of an input; an error says whose it is, such as "Step Charge".

    Raises:
        ValueMappingError: as `encode`.
    """
    try:
        return encode(value, declared_type)
    except ValueMappingError as error:
        raise wrong_input(error, value, declared_type, whose) from error


def wrong_input(error: ValueMappingError, value: Any, declared_type: Any, whose: str) -> ValueMappingError:
    """Give the error for a wrong input, made of that for the value alone."""
    if value is not None:
        return error.within(f"input of {whose}")
    expected = type_name(declared_type)
    return ValueMappingError(f"{whose} needs an input: {expected}", "give it one", path="$", expected=expected)


def decode(data: bytes, declared_type: Any = Any) -> Any:
    """Read what `encode` wrote; every call gives a value of its own.

    Raises:
        ValueMappingError: what is stored is not of `declared_type`, say since the type has changed.
    """
    try:
        return _mapping(declared_type).decode(data)
    except msgspec.ValidationError as error:
        raise mapping_error(error) from error


def same(some: bytes | None, other: bytes | None) -> bool:
    """Tell whether two stored values are equal in kind and content, in whatever order their dicts are."""
    if some == other or some is None or other is None:
        return some == other
    return len(some) == len(other) and _same(msgspec.msgpack.decode(some), msgspec.msgpack.decode(other))


def kind_of(data: bytes) -> str:
    """Give the kind of a stored value: string, int64, double, bool, datetime, json, bytes or null."""
    return _KINDS[data[0]]


def check_type(declared_type: Any, what: str) -> None:
    """Refuse a type whose values cannot be stored; `what` names the place, such as "Attribute Total".

    Raises:
        FlowDefinitionError: naming the type.
    """
    try:
        msgspec.msgpack.Decoder(declared_type)
        custom = _custom_type(inspect.type_info(declared_type), set())
    except (TypeError, NameError) as error:
        raise FlowDefinitionError(f"the type of {what} cannot be stored: {error}", _TYPES_REMEDY) from error
    if custom is not None:
        raise FlowDefinitionError(f"the type of {what} cannot be stored: {custom.__qualname__}", _TYPES_REMEDY)


def too_deep(path: str) -> ValueMappingError:
    """Give the error for a value that contains itself, or so many others that it may as well."""
    return ValueMappingError(
        f"the value at {path} is nested more than {MAX_DEPTH} deep, or contains itself",
        "put fewer lists and objects inside of one another",
        path=path,
        expected="",
    )


def type_name(declared_type: Any) -> str:
    """Give a type as people write it: `int`, `Profile`, `list[Profile]`."""
    if isinstance(declared_type, type):
        return declared_type.__name__
    return re.sub(r"[\w.<>]+\.", "", str(declared_type))


def mapping_error(error: msgspec.ValidationError) -> ValueMappingError:
    """Give msgspec's error as ours, with the path of the field and the type expected."""
    problem, _, path = str(error).partition(" - at ")
    path = path.strip("`") or "$"
    found = re.fullmatch(r"Expected `(.*)`, got `(.*)`", problem)
    if found:
        return _mismatch(path, *found.groups())
    return ValueMappingError(f"the value at {path} does not fit: {problem}", _VALUE_REMEDY, path=path, expected="")


_TYPES_REMEDY = "use str, int, float, bool, bytes, datetime, a dataclass, a TypedDict, dict or list of these"
_VALUE_REMEDY = "pass a value of the declared type"


def _mismatch(path: str, expected: str, got: str) -> ValueMappingError:
    return _refused(path, expected, f"is {got}")


def _refused(path: str, expected: str, problem: str) -> ValueMappingError:
    return ValueMappingError(
        f"the value at {path} {problem}, and {expected} is expected", _VALUE_REMEDY, path=path, expected=expected
    )


def _same(some: Any, other: Any) -> bool:
    if some.__class__ is not other.__class__:
        return False
    if some.__class__ is dict:
        return len(some) == len(other) and all(key in other and _same(some[key], other[key]) for key in some)
    if some.__class__ is list:
        return len(some) == len(other) and all(map(_same, some, other))
    return bool(some == other)


@cache
def _mapping(declared: Any) -> _Mapping:
    return _Mapping(declared)


def _decoder(declared: Any) -> Callable[[bytes], Any]:
    try:
        return msgspec.msgpack.Decoder(declared).decode
    except (TypeError, NameError) as error:
        raise FlowDefinitionError(f"values of type {type_name(declared)} cannot be stored: {error}") from error


def _is_record(declared: Any) -> bool:
    """Tell whether values of a type are its instances, so that a dict of the same shape is not one."""
    return isinstance(declared, type) and (
        hasattr(declared, "__dataclass_fields__") or issubclass(declared, msgspec.Struct)
    )


def _pack(value: Any, mapping: _Mapping) -> bytes:
    try:
        return _ENCODER.encode(value)
    except OverflowError as error:
        raise _refused("$", "a 64-bit integer", "has an integer outside 64 bits") from error
    except RecursionError as error:
        raise too_deep("$") from error
    except UnicodeEncodeError as error:
        raise _refused("$", "text that is Unicode", "has a lone surrogate") from error
    except TypeError as error:
        raise _refused("$", mapping.name, f"cannot be stored ({error})") from error
    except Exception as error:  # a value may run code of its own, such as a time zone's
        raise _refused("$", mapping.name, f"cannot be stored ({shown_error(error)})") from error


def _check_depth(data: bytes) -> None:
    """Refuse lists and objects too deep inside of one another, once enough bytes say that there may be such."""
    if len(data) <= MAX_DEPTH or len(data) - len(data.translate(None, _CONTAINERS)) <= MAX_DEPTH:
        return
    try:
        level = _holders([msgspec.msgpack.decode(data)])
    except RecursionError as error:
        raise too_deep("$") from error
    for _ in range(MAX_DEPTH):
        level = _holders(inner for item in level for inner in (item.values() if item.__class__ is dict else item))
        if not level:
            return
    raise too_deep("$")


def _holders(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value.__class__ is dict or value.__class__ is list]


def _check_numbers(data: bytes) -> None:
    """Refuse integers beyond int64, NaN and infinities, once a byte says that there may be one.

    The two marker bytes are looked for first, since walking through a value is dear. Inside of text and of other
    numbers they stand for something else: a byte that begins no value is read there just as well, and nowhere else.
    """
    try:
        msgspec.msgpack.decode(data.translate(_MARKED))
    except msgspec.DecodeError:
        value = msgspec.msgpack.decode(data)
    else:
        return
    if not _all_fit(value):
        _check_number(value, "$")


def _all_fit(value: Any) -> bool:
    """Tell whether every number fits, more than twice as fast as `_check_number` tells which does not."""
    found = [value]
    for each in found:
        kind = each.__class__
        if kind is dict:
            found.extend(each.values())
        elif kind is list:
            found.extend(each)
        elif (kind is int and each > I64_MAX) or (kind is float and not math.isfinite(each)):
            return False
    return True


def _check_number(value: Any, path: str) -> None:
    if isinstance(value, dict):
        for key, entry in value.items():
            _check_number(entry, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_number(item, f"{path}[{index}]")
    elif isinstance(value, int) and value > I64_MAX:
        raise _refused(path, "a 64-bit integer", f"is {value}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise _refused(path, "a finite number", f"is {value}")


def _custom_type(info: Any, seen: set[int]) -> type | None:
    """Find a type that msgspec knows nothing of, anywhere in a declared type."""
    if id(info) in seen:
        return None
    seen.add(id(info))
    if isinstance(info, inspect.CustomType):
        return info.cls
    found = (_custom_type(part, seen) for part in _parts(info))
    return next((custom for custom in found if custom is not None), None)


def _nests(info: Any, around: tuple[int, ...] = ()) -> bool:
    """Tell whether values of a type may have others inside without an end: any value, or the type itself."""
    if isinstance(info, inspect.AnyType) or id(info) in around:
        return True
    return any(_nests(part, (*around, id(info))) for part in _parts(info))


def _bounds_numbers(info: Any) -> bool:
    """Tell whether what reads as a type, one that does not nest, has no numbers but integers of 64 bits."""
    if isinstance(info, inspect.IntType):
        return info.le is not None and info.le <= I64_MAX
    if isinstance(info, inspect.StructType) and not info.forbid_unknown_fields:
        return False
    return isinstance(info, _NO_NUMBERS) and all(map(_bounds_numbers, _parts(info)))


def _parts(info: Any) -> Iterator[Any]:
    """Give the types and fields that a type is made of."""
    inner = [getattr(info, name, None) for name in ("type", "item_type", "key_type", "value_type")]
    for name in ("fields", "types", "item_types"):
        inner.extend(getattr(info, name, ()))
    return (part for part in inner if isinstance(part, (inspect.Type, inspect.Field)))


def _kind(first: int) -> str:
    """Give the kind of values whose MessagePack begins with the byte `first`."""
    for kind, ranges in _RANGES.items():
        if any(low <= first <= high for low, high in ranges):
            return kind
    return "int64"


# Of types, and of fields, that are no number themselves.
_NO_NUMBERS = (
    inspect.StrType,
    inspect.BytesType,
    inspect.BoolType,
    inspect.NoneType,
    inspect.DateTimeType,
    inspect.ListType,
    inspect.VarTupleType,
    inspect.TupleType,
    inspect.DictType,
    inspect.UnionType,
    inspect.StructType,
    inspect.Field,
)
_RANGES = {
    "json": [(0x80, 0x9F), (0xDC, 0xDF)],
    "string": [(0xA0, 0xBF), (0xD9, 0xDB)],
    "null": [(0xC0, 0xC0)],
    "bool": [(0xC2, 0xC3)],
    "bytes": [(0xC4, 0xC6)],
    "datetime": [(0xC7, 0xC9), (0xD4, 0xD8)],
    "double": [(0xCA, 0xCB)],
}
_CONTAINERS = bytes(byte for low, high in _RANGES["json"] for byte in range(low, high + 1))
_KINDS = tuple(_kind(first) for first in range(256))
