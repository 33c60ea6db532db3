"""What a request asks for: the parts of its path, its query and its body, read by the types a route declares."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote_to_bytes

from dex.wcl.errors import InputError
from dex.wcl.jsontext import read_json
from dex.wcl.names import did_you_mean
from dex.wcl.values import value_from_json


class Parameter(NamedTuple):
    """A parameter of a query: its name, the type of its value, what it is for, and whether it may be repeated."""

    name: str
    type: type
    description: str
    default: Any = None
    required: bool = False
    repeated: bool = False


class Call:
    """One request, as a route reads it. `path` has the parts of the path as they were sent, percent-encoded."""

    def __init__(self, path: Mapping[str, str], query: bytes, body: bytes, declared: Mapping[str, Parameter]) -> None:
        self._path = path
        self._declared = declared
        self._query = _read_query(query, declared)
        self.body = body

    def blob(self, name: str) -> bytes:
        """Give a part of the path as the bytes that it stands for."""
        return unquote_to_bytes(self._path[name])

    def text(self, name: str) -> str:
        """Give a part of the path as text.

        Raises:
            InputError: it is not UTF-8.
        """
        return _utf8(self.blob(name), name)

    def value(self, name: str) -> Any:
        """Give a part of the path as a value: text, or typed JSON after `:=`.

        Raises:
            InputError: it is not UTF-8, or the part after `:=` is not JSON.
        """
        text = self.text(name)
        if not text.startswith(":="):
            return text
        return value_from_json(read_json(text[2:], f"the {name} in the path", 'quote text, as in :="text"'))

    def all(self, name: str) -> list[Any]:
        """Give every value of a parameter that may be repeated."""
        return self._query.get(name, [])

    def get(self, name: str) -> Any:
        """Give the value of a parameter, or its default."""
        return self._query[name][0] if name in self._query else self._declared[name].default

    def given(self) -> dict[str, Any]:
        """Give the parameters that the request has, by name: for commands whose fields have the same names."""
        return {name: values[0] for name, values in self._query.items() if not self._declared[name].repeated}


def _read_query(query: bytes, declared: Mapping[str, Parameter]) -> dict[str, list[Any]]:
    """Read a query by what is declared.

    Raises:
        InputError: a parameter is unknown, missing, given twice or of another type.
    """
    found: dict[str, list[Any]] = {}
    for raw_name, raw_value in parse_qsl(query, keep_blank_values=True):
        name = _utf8(raw_name, "name of a parameter")
        parameter = declared.get(name)
        if parameter is None:
            hint = did_you_mean(name, declared) or _known(declared)
            raise InputError(f"unknown parameter {name!r}", hint, parameter=name)
        if name in found and not parameter.repeated:
            raise InputError(f"parameter {name!r} is given twice", "give it once", parameter=name)
        found.setdefault(name, []).append(_READERS[parameter.type](raw_value, name))
    for parameter in declared.values():
        if parameter.required and parameter.name not in found:
            raise InputError(
                f"parameter {parameter.name!r} is missing", f"add ?{parameter.name}=…", parameter=parameter.name
            )
    return found


def _known(declared: Mapping[str, Parameter]) -> str:
    return f"known: {', '.join(sorted(declared))}" if declared else "this path takes none"


def _utf8(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the {what} is not UTF-8", "percent-encode it as UTF-8", parameter=what) from error


def _number(data: bytes, name: str) -> int:
    text = _utf8(data, name)
    if text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 20:
        return int(text)
    raise InputError(f"parameter {name!r} is not a whole number", "write digits alone", parameter=name)


def _flag(data: bytes, name: str) -> bool:
    if data in (b"true", b"false"):
        return data == b"true"
    raise InputError(f"parameter {name!r} is neither true nor false", "write true or false", parameter=name)


def _bytes(data: bytes, _name: str) -> bytes:
    return data


_READERS: dict[type, Callable[[bytes, str], Any]] = {str: _utf8, int: _number, bool: _flag, bytes: _bytes}
