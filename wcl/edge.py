"""Values of Flows as JSON at the edge: HTTP and the command line.

Fields of dataclasses are lowerCamelCase there (`emailAddress`); keys of dicts stay as they are. A datetime is RFC 3339
text, bytes are `{"bytes": "<base64>"}` (spec: FL-03).
"""

import re
from base64 import b64encode
from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any

import msgspec

_PLAIN = frozenset({str, int, float, bool, type(None)})


def to_edge(value: Any) -> Any:
    """Give a value as dicts, lists and scalars for any JSON writer."""
    kind = value.__class__
    if kind in _PLAIN:
        return value
    if kind is dict:
        return {_edge_key(key): to_edge(entry) for key, entry in value.items()}
    if kind in (list, tuple, set, frozenset):
        return [to_edge(item) for item in value]
    record = _edge_record(kind)
    if record is not None:
        tag, fields = record
        return {**tag, **{edge: to_edge(getattr(value, name)) for name, edge in fields}}
    return _scalar(value)


def camel_case(name: str) -> str:
    """Give the lowerCamelCase of a snake_case name: `email_address` is `emailAddress`."""
    return re.sub(r"(?<=[^_])_+([a-zA-Z0-9])", lambda found: found[1].upper(), name)


@cache
def _edge_record(kind: type) -> tuple[dict[str, Any], list[tuple[str, str]]] | None:
    """Give the tag and the fields with their names at the edge, of a dataclass or Struct; None for other types."""
    config = getattr(kind, "__struct_config__", None)
    names = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "__struct_fields__", None)
    if names is None or (config is not None and config.array_like):
        return None
    camel = camel_names(names)
    tag = {config.tag_field: config.tag} if config is not None and config.tag_field else {}
    return tag, [(name, camel[name]) for name in names]


def camel_names(names: Iterable[str]) -> dict[str, str]:
    """Give each field's name at the edge; those that would share one keep the name that they have."""
    names = list(names)
    camel = [camel_case(name) for name in names]
    return {name: written if camel.count(written) == 1 else name for name, written in zip(names, camel, strict=True)}


def _edge_key(key: Any) -> str:
    return key if key.__class__ is str else str(_scalar(key))


def _scalar(value: Any) -> Any:
    if isinstance(value, dict):
        return to_edge(dict(value))
    if isinstance(value, Enum):
        return to_edge(value.value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": b64encode(value).decode()}
    return msgspec.to_builtins(value)
