"""The JSON Schema of the typed commands, made from their declarations (spec: W-09)."""

import re
from collections.abc import Iterable
from typing import Any, get_args

import msgspec

from dex.wcl.errors import InputError
from dex.wcl.names import did_you_mean
from dex.wcl.values import I64_MAX, I64_MIN, Blob, Value
from dex.wcl.wire import any_command

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SPEC = re.compile(r"\s*\(spec: [^)]*\)")
_BYTES = {
    "type": "object",
    "properties": {"bytes": {"type": "string", "contentEncoding": "base64"}},
    "required": ["bytes"],
    "additionalProperties": False,
}
_BLOB = {"description": "Bytes: text as UTF-8, or base64.", "anyOf": [{"type": "string"}, _BYTES]}
_SCALARS = [
    {"type": "string"},
    {"type": "integer", "minimum": I64_MIN, "maximum": I64_MAX},
    {"type": "boolean"},
    {"type": "null"},
    _BYTES,
]
_VALUE = {
    "description": "Text, a 64-bit integer, a boolean, null, bytes, or a list of these as one composite value.",
    "anyOf": [*_SCALARS, {"type": "array", "items": {"anyOf": _SCALARS}, "minItems": 1}],
}


def command_schema(name: str | None = None) -> dict[str, Any]:
    """Give the JSON Schema of all typed commands, or of the one whose `command` is `name`.

    Raises:
        InputError: there is no such command, with the nearest name.
    """
    by_name = {command.__struct_config__.tag: command for command in get_args(any_command())}
    if name is not None and name not in by_name:
        hint = did_you_mean(name, by_name) or "known: " + ", ".join(sorted(by_name))
        raise InputError(f"unknown command {name!r}", hint, command=name)
    wanted = any_command() if name is None else by_name[name]
    schema: dict[str, Any] = msgspec.json.schema(wanted, schema_hook=_hook)
    _tidy(schema["$defs"])
    return {"$schema": _DIALECT, **schema}


def schemas_of(types: Iterable[Any], reference: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Give a schema for each type, and those that they refer to by name, as `reference` says with `{name}`."""
    schemas, named = msgspec.json.schema_components(types, schema_hook=_hook, ref_template=reference)
    _tidy(named)
    return list(schemas), named


def _tidy(definitions: dict[str, Any]) -> None:
    """Take out of the descriptions what only those who read the code look for."""
    for definition in definitions.values():
        if "description" in definition:
            definition["description"] = _SPEC.sub("", definition["description"])


def _hook(kind: type) -> dict[str, Any]:
    """Give the schema of the two types that msgspec does not know."""
    return {Blob: _BLOB, Value: _VALUE}[kind]
