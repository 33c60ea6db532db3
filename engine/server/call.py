"""What a request asks for: the parts of its path, its query and its body, read by the types a route declares."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec

from dex.wcl.errors import InputError
from dex.wcl.jsontext import read_json
from dex.wcl.names import did_you_mean
from dex.wcl.shown import shown
from dex.wcl.values import value_from_json

T = TypeVar("T")


class Parameter(NamedTuple):
    """A part of a path or a parameter of a query: its name, the type of its value, what it is for and what it may be.

    `least` and `most` bound a number; `choices` are the only texts there are, if there are any.
    """

    name: str
    type: type
    description: str
    default: Any = None
    example: Any = None
    required: bool = False
    repeated: bool = False
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()


class Call:
    """One request, as a route reads it.

    `path` has the parts of the path as they were sent, percent-encoded; a byte that is not ASCII is a lone surrogate
    there, as `surrogateescape` makes it.
    """

    def __init__(self, path: Mapping[str, str], query: bytes, body: bytes, declared: Mapping[str, Parameter]) -> None:
        self._path = path
        self._declared = declared
        self._query = _read_query(query, declared)
        self.body = body

    def blob(self, name: str) -> bytes:
        """Give a part of the path as the bytes that it stands for."""
        return unquote_to_bytes(self._path[name].encode("ascii", "surrogateescape"))

    def text(self, name: str) -> str:
        """Give a part of the path as text.

        Raises:
            InputError: it is not UTF-8.
        """
        return _utf8(self.blob(name), f"{name} in the path")

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

    def json(self, kind: type[T], example: T) -> T:
        """Read the body as a document of a type; `example` is shown to who sent another.

        Raises:
            InputError: it is not JSON, has a name twice, or is not of the type, with the path.
        """
        remedy = f"send {msgspec.json.encode(example).decode()}"
        raw = read_json(self.body, "the body", remedy)
        try:
            return msgspec.convert(raw, kind)
        except msgspec.ValidationError as error:
            raise InputError(f"the body does not fit: {error}", remedy) from error


def check_is_json(content_type: str | None) -> None:
    """Refuse a body that is not told to be JSON.

    A page of another site can have a browser post any text to this server, but none that is told to be JSON.

    Raises:
        InputError: with what it is told to be.
    """
    told = (content_type or "").partition(";")[0].strip().lower()
    if told != "application/json":
        what = shown(told) if told else "no content type"
        raise InputError(f"the body has {what}, and JSON is taken alone", "send Content-Type: application/json")


def _read_query(query: bytes, declared: Mapping[str, Parameter]) -> dict[str, list[Any]]:
    """Read a query by what is declared.

    Raises:
        InputError: a parameter is unknown, missing, given twice or of another type.
    """
    found: dict[str, list[Any]] = {}
    for raw_name, raw_value in _pairs(query):
        name = _utf8(raw_name, "name of a parameter")
        parameter = declared.get(name)
        if parameter is None:
            hint = did_you_mean(name, declared) or _known(declared)
            raise InputError(f"unknown parameter {shown(name)}", hint, parameter=name)
        if name in found and not parameter.repeated:
            raise InputError(f"parameter {name!r} is given twice", "give it once", parameter=name)
        found.setdefault(name, []).append(_READERS[parameter.type](raw_value, parameter))
    for parameter in declared.values():
        if parameter.required and parameter.name not in found:
            raise InputError(
                f"parameter {parameter.name!r} is missing", f"add ?{parameter.name}=…", parameter=parameter.name
            )
    return found


def _pairs(query: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Give the names and values of a query as bytes, which those of the standard library have to be UTF-8 for."""
    for pair in query.split(b"&"):
        if pair:
            name, _, value = pair.replace(b"+", b" ").partition(b"=")
            yield unquote_to_bytes(name), unquote_to_bytes(value)


def _known(declared: Mapping[str, Parameter]) -> str:
    return f"known: {', '.join(sorted(declared))}" if declared else "this path takes none"


def _utf8(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the {what} is not UTF-8", "percent-encode it as UTF-8", parameter=what) from error


def _text(data: bytes, parameter: Parameter) -> str:
    text = _utf8(data, f"parameter {parameter.name!r}")
    if parameter.choices and text not in parameter.choices:
        remedy = did_you_mean(text, parameter.choices) or f"use one of {', '.join(parameter.choices)}"
        raise InputError(f"parameter {parameter.name!r} cannot be {shown(text)}", remedy, parameter=parameter.name)
    return text


def _number(data: bytes, parameter: Parameter) -> int:
    if data.removeprefix(b"-").isdigit() and len(data) <= 20:
        return int(data)
    raise InputError(
        f"parameter {parameter.name!r} is not a whole number", "write digits alone", parameter=parameter.name
    )


def _flag(data: bytes, parameter: Parameter) -> bool:
    if data in (b"true", b"false"):
        return data == b"true"
    raise InputError(
        f"parameter {parameter.name!r} is neither true nor false", "write true or false", parameter=parameter.name
    )


def _bytes(data: bytes, _parameter: Parameter) -> bytes:
    return data


_READERS: dict[type, Callable[[bytes, Parameter], Any]] = {str: _text, int: _number, bool: _flag, bytes: _bytes}
