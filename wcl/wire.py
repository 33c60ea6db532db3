"""Typed commands and results as JSON, and JSON as typed commands.

Bytes have two JSON forms (see dex.wcl.values), so writing goes by the declared types: `to_json` compiles one
small converter for each type and keeps it.
"""

import re
import types
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec

from dex.wcl.commands import AnyCommand, Command
from dex.wcl.edge import to_edge
from dex.wcl.errors import DexError, InputError, InvalidCommand
from dex.wcl.jsontext import read_json
from dex.wcl.names import did_you_mean
from dex.wcl.shown import shown
from dex.wcl.values import Blob, Value, blob_from_json, blob_to_json, nested_too_deeply, value_from_json, value_to_json

R = TypeVar("R")

Converter = Callable[[Any], Any]


def to_json(obj: Any) -> Any:
    """Give a command or result as dicts, lists and scalars for any JSON or YAML writer, nothing lost."""
    if isinstance(obj, msgspec.Struct):
        return _struct_converter(type(obj))(obj)
    if isinstance(obj, list):
        return [to_json(item) for item in obj]
    return to_edge(obj)


def encode(obj: Any) -> bytes:
    """Give a command or result as one line of JSON."""
    return msgspec.json.encode(to_json(obj))


def decode_commands(data: bytes | str) -> tuple[list[Command[Any]], bool]:
    """Read one typed command or a list of them from JSON; the flag tells whether it was a list (spec: W-09).

    Raises:
        InputError: not JSON, a name twice, an unknown command or field, or a field of another type; with the path.
        InvalidCommand: a command that breaks its contract.
    """
    raw = read_json(data, "the command", 'write {"command": "show_state_stores"}')
    if isinstance(raw, list):
        return [command_from(item, f"$[{index}]") for index, item in enumerate(raw)], True
    return [command_from(raw)], False


def command_from(raw: Any, path: str = "$") -> Command[Any]:
    """Read one typed command from the dict that `to_json` gives; `path` says where it stands, for errors.

    Raises:
        InputError, InvalidCommand: as `decode_commands`.
    """
    tag = raw.get("command") if isinstance(raw, dict) else None
    if tag is not None and (not isinstance(tag, str) or tag not in _by_tag()):
        hint = did_you_mean(str(tag), command_tags()) or "known: " + ", ".join(sorted(command_tags()))
        raise InputError(f"unknown command {shown(tag)} at {path}", hint, command=tag)
    # Of a union msgspec works out anew each time what its members are; of one command it remembers.
    wanted = any_command() if tag is None else _by_tag()[tag]
    try:
        return msgspec.convert(raw, wanted, dec_hook=_decode_hook)  # type: ignore[no-any-return]
    except RecursionError as error:
        raise nested_too_deeply(f"the command at {path}") from error
    except msgspec.ValidationError as error:
        detail, _, where = str(error).partition(" - at `$")
        where = path + where.removesuffix("`")
        if isinstance(error.__cause__, _NotAValue):
            raise _placed(error.__cause__, raw, where) from None
        if isinstance(error.__cause__, DexError):
            raise error.__cause__ from None
        detail = _MSGSPEC_WORDS.sub(lambda word: f"`{_JSON_WORDS[word[1]]}`", detail)
        raise InputError(f"not a command: {detail} - at `{where}`", _shape(tag)) from error


_JSON_WORDS = {"str": "string", "int": "integer", "bool": "boolean", "float": "number", "NoneType": "null"}
_MSGSPEC_WORDS = re.compile(f"`({'|'.join(_JSON_WORDS)})`")


class _NotAValue(InvalidCommand):
    """A part of a command is no key, payload or named value; where it stands is not known yet."""


def _placed(error: _NotAValue, raw: Any, path: str) -> InvalidCommand:
    """Give the error with the path of what it is about."""
    if path.endswith(".named[...]"):  # msgspec does not tell which of them
        path = path.removesuffix("[...]") + "".join(f".{name}" for name in _first_wrong(raw["named"]))
    return InvalidCommand(f"{error.message}, at {path}", error.remedy, path=path)


def _first_wrong(named: dict[str, Any]) -> Iterator[str]:
    for name, value in named.items():
        try:
            value_from_json(value)
        except InvalidCommand:
            yield name
            return


def result_from(command: Command[R], raw: Any) -> R:
    """Read the result of a command from what `to_json` gives for it.

    Raises:
        InputError: it is not such a result.
    """
    try:
        return msgspec.convert(raw, _result_type(type(command)), dec_hook=_decode_hook)  # type: ignore[no-any-return]
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError(f"not a result of {command.__struct_config__.tag}: {error}", "") from error


@cache
def _result_type(command: type[Command[Any]]) -> Any:
    """Give the result that a command declares, as the parameter of its base."""
    (base,) = command.__orig_bases__  # type: ignore[attr-defined]
    return get_args(base)[0]


def _shape(tag: Any) -> str:
    """Say where the fields of a command are told."""
    command = next((one for one in get_args(any_command()) if one.__struct_config__.tag == tag), None)
    if command is None:
        return "`dex command --schema` shows every command"
    fields = [field.encode_name + ("" if field.required else "?") for field in msgspec.structs.fields(command)]
    told = f"{tag} has the fields {', '.join(fields)}" if fields else f"{tag} has no fields"
    return f"{told}; see `dex command --schema {tag}`"


@cache
def any_command() -> Any:
    """Give the union of all typed commands, those on Flows, sync and the cluster included."""
    from dex.wcl.commands.cluster import AnyClusterCommand
    from dex.wcl.commands.flows import AnyFlowCommand
    from dex.wcl.commands.overview import ShowOverview
    from dex.wcl.commands.sync import AnySyncCommand

    return AnyCommand | AnyFlowCommand | AnySyncCommand | AnyClusterCommand | ShowOverview


def command_tags() -> frozenset[str]:
    """Give the names of all typed commands, as JSON has them."""
    return frozenset(_by_tag())


@cache
def _by_tag() -> dict[str, type[Command[Any]]]:
    return {str(command.__struct_config__.tag): command for command in get_args(any_command())}


def _decode_hook(kind: Any, data: Any) -> Any:
    try:
        return _FROM_JSON[kind](data)
    except InvalidCommand as error:
        raise _NotAValue(error.message, error.remedy) from error


@cache
def _struct_converter(struct: type[msgspec.Struct]) -> Converter:
    """Compile the writer of one struct; a field that is a default and may be omitted is left out."""
    if hasattr(struct, "to_json"):
        return struct.to_json  # type: ignore[no-any-return]  # one that knows its own form
    config = struct.__struct_config__
    fields = [
        (field.name, field.encode_name, _converter(field.type), _omitted(field) if config.omit_defaults else _NEVER)
        for field in msgspec.structs.fields(struct)
    ]
    head = {config.tag_field: config.tag} if config.tag_field else {}

    def convert(obj: Any) -> dict[str, Any]:
        out = dict(head)
        for name, encoded, converter, omitted in fields:
            value = getattr(obj, name)
            if omitted is _NEVER or value != omitted:
                out[encoded] = converter(value)
        return out

    return convert


_NEVER = object()


def _omitted(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return _NEVER


@cache
def _converter(declared: Any) -> Converter:
    """Give the writer for values of a declared type."""
    origin, arguments = get_origin(declared), get_args(declared)
    if origin in (Union, types.UnionType):
        inner = [_converter(argument) for argument in arguments if argument is not type(None)]
        return partial(_optional, inner[0] if len(inner) == 1 else to_json)
    if origin is list:
        return partial(_list, _converter(arguments[0]))
    if origin is dict:
        return partial(_dict, _converter(arguments[1]))
    return _TO_JSON.get(declared, to_json)


def _optional(inner: Converter, value: Any) -> Any:
    return None if value is None else inner(value)


def _list(item: Converter, values: list[Any]) -> list[Any]:
    return [item(value) for value in values]


def _dict(entry: Converter, values: dict[str, Any]) -> dict[str, Any]:
    return {key: entry(value) for key, value in values.items()}


_TO_JSON: dict[Any, Converter] = {Blob: blob_to_json, Value: value_to_json}
_FROM_JSON: dict[Any, Converter] = {Blob: blob_from_json, Value: value_from_json}
