"""Values as they are written on the command line.

`k=v` is text, `k:=JSON` is typed, `k=@FILE` is bytes from a file. A payload is text, `@FILE` or `-` (standard
input). Text that begins with `@` is written with another one in front: `@@ann`. A key or a value that stands alone is
text, or typed when it starts with `:=`. Arguments that are not UTF-8 reach a row byte for byte.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from dex.wcl.errors import InputError, InvalidCommand
from dex.wcl.shown import shown
from dex.wcl.values import nested_too_deeply, value_from_json

ReadJson: TypeAlias = Callable[[str, str], Any]
"""Reads JSON; its second argument is what to quote in an error."""


def read_bytes(source: str, at_most: int = -1) -> bytes:
    """Read a file, or standard input where `source` is `-`; `at_most` is how many bytes it may have, if 0 or more.

    Raises:
        InputError: the file cannot be read, or is larger.
    """
    if source == "-":
        return sys.stdin.buffer.read()
    try:
        with Path(source).open("rb") as stream:
            data = stream.read(at_most + 1 if at_most >= 0 else -1)
    except OSError as error:
        raise unreadable(source, error) from error
    if len(data) > at_most >= 0:
        raise InputError(f"{source} has more than {at_most} bytes", "name another file", file=source)
    return data


def read_text(source: str, at_most: int = -1) -> str:
    """Read a file or standard input as UTF-8; a byte order mark is kept for the parser, which knows it.

    Raises:
        InputError: the file cannot be read or is not UTF-8, or is larger than `at_most` bytes.
    """
    data = read_bytes(source, at_most)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{source} is not UTF-8 at line {line}", "save it as UTF-8", file=source, line=line) from error


def unreadable(source: str, error: OSError) -> InputError:
    """Give the error for an input file that cannot be read."""
    reason = error.strerror or str(error)
    return InputError(f"cannot read {source}: {reason}", "check the path and its permissions", file=source)


def payload_from(argument: str) -> bytes:
    """Read a payload: text, `@FILE` or `-`.

    Raises:
        InputError: the file cannot be read.
    """
    if argument == "-":
        return read_bytes("-")
    return read_bytes(argument[1:]) if _names_file(argument) else os.fsencode(_unescaped(argument))


def _names_file(argument: str) -> bool:
    return argument.startswith("@") and not argument.startswith("@@")


def _unescaped(argument: str) -> str:
    return argument[1:] if argument.startswith("@@") else argument


def key_from(argument: str) -> bytes:
    """Read a key: text, or JSON text or `{"bytes": …}` after `:=`.

    Raises:
        InputError: the part after `:=` is neither.
    """
    value = value_from(argument)
    if isinstance(value, str):
        return os.fsencode(value)
    if isinstance(value, bytes):
        return value
    raise InputError(
        f"the key {argument!r} is neither text nor bytes",
        'write text, or := with "text" or {"bytes": "<base64>"}',
    )


def value_from(argument: str) -> Any:
    """Read a value that stands alone: text, or typed JSON after `:=`.

    Raises:
        InputError: the part after `:=` is not JSON.
    """
    return typed(argument[2:], argument) if argument.startswith(":=") else _text(argument)


def assignment(argument: str, read: ReadJson | None = None) -> tuple[str, Any]:
    """Read `k=v`, `k:=JSON` or `k=@FILE`; `read` is what reads JSON, instead of `typed`.

    Raises:
        InputError: there is no name or no `=`, the JSON is wrong or the file cannot be read.
    """
    name, equals, value = argument.partition("=")
    is_typed = name.endswith(":")
    name = name.removesuffix(":") if is_typed else name
    if not equals or not name:
        raise InputError(f"{argument!r} is not an assignment", "write k=text, k:=JSON or k=@FILE", argument=argument)
    if is_typed:
        return name, (read or typed)(value, argument)
    return name, read_bytes(value[1:]) if _names_file(value) else _text(_unescaped(value))


def assignments(arguments: list[str], read: ReadJson | None = None) -> dict[str, Any]:
    """Read several assignments; `read` is as in `assignment`.

    Raises:
        InputError: as `assignment`, or a name is given twice.
    """
    values: dict[str, Any] = {}
    for argument in arguments:
        name, value = assignment(argument, read)
        if name in values:
            raise InputError(f"{name!r} is given twice", "give each name one value", name=name)
        values[name] = value
    return values


def typed(text: str, argument: str) -> Any:
    """Read JSON as a value; `argument` is what to quote in an error.

    Raises:
        InputError: `text` is not JSON, a number is out of range, or an object has a name twice.
        InvalidCommand: it has an object that is no value.
    """
    from dex.wcl.jsontext import read_json

    data = read_json(text, f"the value in {shown(argument)}", "quote text, as in k:='\"text\"'")
    try:
        return value_from_json(data)
    except RecursionError as error:
        raise nested_too_deeply(f"the value in {shown(argument)}") from error
    except InvalidCommand as error:
        raise InvalidCommand(f"the value in {shown(argument)}: {error.message}", error.remedy) from error


def _text(argument: str) -> str | bytes:
    """Give text, or the bytes of an argument that is not UTF-8."""
    raw = os.fsencode(argument)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def metadata_from(arguments: list[str]) -> dict[str, str]:
    """Read metadata entries, which are text.

    Raises:
        InputError: as `assignments`, or a value is not text.
    """
    metadata = assignments(arguments)
    for name, value in metadata.items():
        if not isinstance(value, str):
            raise InputError(f"metadata {name!r} is not text", "metadata is text; put other values in the payload")
    return metadata
