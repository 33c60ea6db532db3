"""The SQL type contract: which value may go to which column, decided before any SQL (spec: Y-15).

A value is given to PostgreSQL as text in the form that its type reads. What PostgreSQL would refuse, round, cut or
parse in silence is unfit, so that one bad field never costs the others; a reason tells sizes, never a value.
"""

import json
import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from dex.engine.sync.table import Column
from dex.wcl.edge import to_edge

# A value travels as a string of a jsonb parameter, whose strings have at most so many bytes.
_MAX_BYTES = 2**28 - 1
_INTEGERS = {"int2": 2**15, "int4": 2**31, "int8": 2**63}
_FLOAT4_DIGITS = range(1, 10)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
_NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class Unfit(Exception):  # it is an answer, not an error
    """A value does not go to a column; the text is the reason."""


def convert(value: Any, column: Column, *, from_json: bool = False) -> str | None:
    """Give the text that PostgreSQL is to read, None for null.

    `value` is as `dex.engine.flows.codec.decode` gives it. `from_json` is for fields of objects, where a number is
    an integer only if the column takes one (spec: Y-11).

    Raises:
        Unfit: with the reason.
    """
    if column.generated:
        raise Unfit("the column is generated")
    converter = _CONVERTERS.get(column.type)
    if converter is None:
        raise Unfit(f"a column of type {column.declared} takes no Attribute")
    if value is None:
        if not column.nullable:
            raise Unfit("null for a required column")
        return None
    return converter(value, column, from_json)


def takes_values(column: Column) -> bool:
    """Tell whether there are values that go to a column."""
    return not column.generated and column.type in _CONVERTERS


def _mismatch(value: Any, column: Column) -> Unfit:
    return Unfit(f"{_KINDS.get(type(value), type(value).__name__)} for a column of type {column.declared}")


_KINDS = {
    str: "a string",
    int: "an int64",
    float: "a double",
    bool: "a bool",
    bytes: "bytes",
    datetime: "a datetime",
    dict: "a JSON object",
    list: "a JSON array",
}


def _text(value: Any, column: Column, _from_json: bool) -> str:
    if type(value) is not str:
        raise _mismatch(value, column)
    if column.length is not None and len(value) > column.length:
        raise Unfit(f"{len(value)} > {column.length} characters")
    if "\0" in value:
        raise Unfit("the character NUL, which PostgreSQL cannot store")
    return _storable(value, column)


def _storable(text: str, column: Column) -> str:
    """Refuse what the database's character set does not have, and what is too long for any column."""
    if text.isascii() and len(text) <= _MAX_BYTES:
        return text
    try:
        size = len(text.encode())
        if column.encoding is not None:
            text.encode(column.encoding)
    except UnicodeEncodeError as error:
        charset = "Unicode" if error.encoding == "utf-8" else f"the character set {error.encoding} of the database"
        raise Unfit(f"a character that {charset} does not have") from None
    if size > _MAX_BYTES:
        raise Unfit(f"{size} > {_MAX_BYTES} bytes")
    return text


def _integer(value: Any, column: Column, from_json: bool) -> str:
    if type(value) is float and from_json and value.is_integer():
        value = int(value)
    if type(value) is not int:
        raise _mismatch(value, column)
    limit = _INTEGERS[column.type]
    if not -limit <= value < limit:
        raise Unfit(f"out of range of {column.declared}")
    return str(value)


def _numeric(value: Any, column: Column, from_json: bool) -> str:
    if type(value) not in (int, float) or (type(value) is int and column.scale and not from_json):
        raise _mismatch(value, column)
    if type(value) is float and not math.isfinite(value):
        raise Unfit("not a finite number")
    number = Decimal(repr(value))
    if number and column.precision is not None and column.scale is not None:
        # At most 19 digits come from an int64 and 17 from a double, so that nothing is rounded here.
        decimals = -int(number.normalize().as_tuple().exponent)
        if decimals > column.scale:
            raise Unfit(f"{decimals} > {column.scale} decimals")
        if number.adjusted() + 1 > column.precision - column.scale:
            raise Unfit(f"out of range of {column.declared}")
    return str(number)


def _float(value: Any, column: Column, from_json: bool) -> str:
    if type(value) is int and from_json:
        if not -(2**63) <= value < 2**64 or int(float(value)) != value:
            raise Unfit(f"more digits than {column.declared} holds")
        value = float(value)
    if type(value) is not float:
        raise _mismatch(value, column)
    if not math.isfinite(value):
        raise Unfit("not a finite number")
    if column.type == "float4":
        _check_float4(value, column)
    return repr(value)


def _check_float4(value: float, column: Column) -> None:
    """Refuse a number that would read back as another one; 0.1 is stored inexactly, yet reads back as 0.1."""
    stored = _as_float4(value)
    if stored is None or (value and not stored):
        raise Unfit(f"out of range of {column.declared}")
    shown = (float(f"{stored:.{digits}g}") for digits in _FLOAT4_DIGITS)
    if next(short for short in shown if _as_float4(short) == stored) != value:
        raise Unfit(f"more digits than {column.declared} holds")


def _as_float4(value: float) -> float | None:
    """Give the nearest number of single precision, None beyond its range."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return None


def _bool(value: Any, column: Column, _from_json: bool) -> str:
    if type(value) is not bool:
        raise _mismatch(value, column)
    return "true" if value else "false"


def _timestamptz(value: Any, column: Column, _from_json: bool) -> str:
    if type(value) is str:
        moment = _from_rfc3339(value)
    elif type(value) in (int, float):
        moment = _from_epoch(value)
    elif isinstance(value, datetime):
        moment = value
    else:
        raise _mismatch(value, column)
    if moment.tzinfo is None:
        raise Unfit("a datetime without zone")
    if column.precision is not None and moment.microsecond % 10 ** (6 - column.precision):
        raise Unfit(f"finer than the {column.precision} decimals of a second of {column.declared}")
    try:
        return moment.astimezone(UTC).isoformat()
    except OverflowError:
        raise Unfit("outside the years 1 to 9999") from None


def _from_rfc3339(text: str) -> datetime:
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise Unfit("not an RFC 3339 datetime with zone")
    date, time, fraction, zone = match.groups()
    fraction = (fraction or "").rstrip("0")
    if len(fraction) > 6:
        raise Unfit("finer than a microsecond")
    try:
        return datetime.fromisoformat(f"{date}T{time}.{fraction:0<6}{'+00:00' if zone in 'Zz' else zone}")
    except ValueError:
        raise Unfit("not an RFC 3339 datetime with zone") from None


def _from_epoch(seconds: float) -> datetime:
    # A double has about seven decimals at today's seconds, the last of them noise: the nearest microsecond is meant.
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        raise Unfit("outside the years 1 to 9999") from None


def _json(value: Any, column: Column, _from_json: bool) -> str:
    if type(value) not in (dict, list):
        raise _mismatch(value, column)
    try:
        text = json.dumps(to_edge(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise Unfit("JSON with a number that is not finite") from None
    except RecursionError:
        raise Unfit("JSON that is nested too deeply") from None
    if column.type == "jsonb" and _NUL_IN_JSON.search(text):
        raise Unfit("the character NUL, which jsonb cannot store")
    return _storable(text, column)


def _bytea(value: Any, column: Column, _from_json: bool) -> str:
    if type(value) is not bytes:
        raise _mismatch(value, column)
    if 2 * len(value) + 2 > _MAX_BYTES:
        raise Unfit(f"{len(value)} > {_MAX_BYTES // 2 - 1} bytes")
    return f"\\x{value.hex()}"


_CONVERTERS: dict[str, Callable[[Any, Column, bool], str]] = {
    "text": _text,
    "varchar": _text,
    "bpchar": _text,
    "int2": _integer,
    "int4": _integer,
    "int8": _integer,
    "numeric": _numeric,
    "float4": _float,
    "float8": _float,
    "bool": _bool,
    "timestamptz": _timestamptz,
    "json": _json,
    "jsonb": _json,
    "bytea": _bytea,
}
