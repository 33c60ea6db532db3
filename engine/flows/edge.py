"""Reading values of Flows from JSON at the edge, HTTP and the command line; dex.wcl.edge writes it.

Fields of dataclasses are lowerCamelCase there (`emailAddress`), and snake_case is read as well; keys of dicts stay
as they are. A datetime is RFC 3339 text, bytes are `{"bytes": "<base64>"}` (spec: FL-03).
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from dex.engine.flows.codec import mapping_error, too_deep
from dex.wcl.edge import camel_case, camel_names
from dex.wcl.errors import InvalidCommand, ValueMappingError
from dex.wcl.names import did_you_mean
from dex.wcl.values import value_from_json

_RECORDS = (inspect.DataclassType, inspect.StructType, inspect.TypedDictType)
_LISTS = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)


def from_edge(data: Any, declared_type: Any) -> Any:
    """Read JSON, already parsed, as a value of the declared type.

    Raises:
        ValueMappingError: a field is unknown (with the nearest name), missing, or of another type; with the `path`
            of it and the type `expected`.
    """
    try:
        read = _read(_info(declared_type), data, "$")
        # Naming bytes as built in keeps msgspec from reading any text as base64.
        return msgspec.convert(read, declared_type, str_keys=True, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise _at_the_edge(mapping_error(error)) from error
    except RecursionError as error:
        raise too_deep("$") from error


@cache
def _info(declared_type: Any) -> Any:
    return inspect.type_info(declared_type)


def _read(info: Any, data: Any, path: str) -> Any:
    """Give JSON with the names that msgspec expects, and bytes as such; what does not fit is left to msgspec."""
    if isinstance(info, inspect.UnionType):
        return _read(_alternative(info.types, data), data, path)
    for kinds, reader in _READERS:
        if isinstance(info, kinds):
            return reader(info, data, path)
    return data


def _alternative(types: Iterable[Any], data: Any) -> Any:
    """Give the alternative of a union that the shape of the data stands for; there is at most one of a shape."""
    fitting = {dict: (*_RECORDS, inspect.DictType, inspect.BytesType), list: (*_LISTS, inspect.TupleType)}
    wanted: tuple[type, ...] = fitting.get(data.__class__, ())
    by_shape = [kind for kind in types if isinstance(kind, wanted) and _has_tag(kind, data)]
    if data.__class__ is dict and set(data) == {"bytes"}:
        by_shape.sort(key=lambda kind: not isinstance(kind, inspect.BytesType))
    return by_shape[0] if by_shape else None


def _has_tag(info: Any, data: Any) -> bool:
    tag_field = getattr(info, "tag_field", None)
    return tag_field is None or data.get(tag_field) == info.tag


def _read_record(info: Any, data: Any, path: str) -> Any:
    if data.__class__ is not dict or getattr(info, "array_like", False):
        return data
    by_name = {field.name: field for field in info.fields}
    camel = camel_names(by_name)
    known = {**{edge: by_name[name] for name, edge in camel.items()}, **by_name}
    read: dict[str, Any] = {}
    for written, entry in data.items():
        if written == getattr(info, "tag_field", None):
            read[written] = entry
            continue
        field = known.get(written)
        if field is None:
            raise _field_error("unknown", written, path, did_you_mean(written, camel.values()) or _listed(camel))
        if field.encode_name in read:
            raise _field_error("a second", written, path, "write it once")
        read[field.encode_name] = _read(field.type, entry, f"{path}.{camel[field.name]}")
    for name, field in by_name.items():
        if field.encode_name in read:
            continue
        if field.required:
            raise _field_error("missing", camel[name], path, _listed(camel))
        if field.default is not msgspec.NODEFAULT:
            # Left to msgspec, the default would stay with the class, and the stored value would lack the field.
            read[field.encode_name] = msgspec.to_builtins(field.default, builtin_types=(bytes,))
    return read


def _listed(camel: dict[str, str]) -> str:
    return "its fields are " + ", ".join(camel.values()) if camel else "it has no fields"


def _field_error(problem: str, written: str, path: str, remedy: str) -> ValueMappingError:
    at = f"{path}.{written}"
    return ValueMappingError(f"{problem} field {written} at {path}", remedy, path=at, expected="")


def _read_dict(info: Any, data: Any, path: str) -> Any:
    if data.__class__ is not dict:
        return data
    return {key: _read(info.value_type, entry, f"{path}.{key}") for key, entry in data.items()}


def _read_list(info: Any, data: Any, path: str) -> Any:
    if data.__class__ is not list:
        return data
    return [_read(info.item_type, item, f"{path}[{index}]") for index, item in enumerate(data)]


def _read_tuple(info: Any, data: Any, path: str) -> Any:
    if data.__class__ is not list or len(data) != len(info.item_types):
        return data
    pairs = zip(info.item_types, data, strict=True)
    return [_read(kind, item, f"{path}[{index}]") for index, (kind, item) in enumerate(pairs)]


def _read_bytes(_: Any, data: Any, path: str) -> Any:
    expected = '{"bytes": "<base64>"}'
    try:
        if data.__class__ is dict and set(data) == {"bytes"}:
            return value_from_json(data)
    except InvalidCommand as error:
        raise ValueMappingError(
            f"the value at {path} is not base64", "encode it as base64", path=path, expected=expected
        ) from error
    raise ValueMappingError(f"the value at {path} is not bytes", f"write {expected}", path=path, expected=expected)


def _read_any(info: Any, data: Any, path: str) -> Any:
    """Read a value of no declared type: only the form of bytes means more than it says."""
    if data.__class__ is list:
        return [_read_any(info, item, f"{path}[{index}]") for index, item in enumerate(data)]
    if data.__class__ is not dict:
        return data
    if set(data) == {"bytes"} and data["bytes"].__class__ is str:
        return _read_bytes(info, data, path)
    return {key: _read_any(info, entry, f"{path}.{key}") for key, entry in data.items()}


_READERS: list[tuple[Any, Callable[[Any, Any, str], Any]]] = [
    (_RECORDS, _read_record),
    (inspect.DictType, _read_dict),
    (_LISTS, _read_list),
    (inspect.TupleType, _read_tuple),
    (inspect.BytesType, _read_bytes),
    (inspect.AnyType, _read_any),
]


def _at_the_edge(error: ValueMappingError) -> ValueMappingError:
    """Give the same error with the fields of its path as they are written at the edge."""
    path = re.sub(r"\.(\w+)", lambda found: "." + camel_case(found[1]), error.path)
    message = error.message.replace(error.path, path)
    return ValueMappingError(message, error.remedy, path=path, expected=error.expected)
