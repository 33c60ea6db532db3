"""Values of rows: keys and payloads (bytes), and the typed values of named keys.

In JSON a key or payload that is UTF-8 is a string, any other `{"bytes": "<base64>"}`. A named value keeps its
type: text, i64 and bool as themselves, null as null, bytes always as `{"bytes": …}`, a list as one composite
value (spec: S-03, S-04, X-02).
"""

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, TypeAlias

from dex.wcl.errors import InputError, InvalidCommand
from dex.wcl.shown import shown

MAX_KEY_BYTES = 4 * 1024
MAX_PAYLOAD_BYTES = 1024 * 1024
MAX_NAMED_VALUE_BYTES = 4 * 1024
I64_MIN, I64_MAX = -(2**63), 2**63 - 1

Scalar: TypeAlias = str | int | bool | bytes | None

if TYPE_CHECKING:
    Blob: TypeAlias = bytes
    Value: TypeAlias = Scalar | list[Scalar]
else:
    # At run time these are markers: msgspec calls the hooks of dex.wcl.wire for fields of these types, which
    # is how one declaration gives bytes two JSON forms. Plain bytes and values count as their instances.
    class _AnyBytes(type):
        def __instancecheck__(cls, instance):
            return isinstance(instance, bytes)

    class Blob(metaclass=_AnyBytes):
        """A key or payload."""

    class _AnyValue(type):
        def __instancecheck__(cls, instance):
            return True

    class Value(metaclass=_AnyValue):
        """The value of a named key."""


def to_bytes(value: Any, what: str) -> bytes:
    """Give bytes as they are and text as UTF-8 (spec: S-02).

    Raises:
        InvalidCommand: `value` is neither, or text with a lone surrogate.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return _utf8(value, what)
    raise InvalidCommand(f"a {what} is bytes or text, not {type(value).__name__}", f"encode the {what} first")


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidCommand(f"the {what} has a lone surrogate at character {error.start + 1}", "pass bytes") from error


def check_key(key: Any) -> None:
    """Refuse an empty or over-long row key, and what is not bytes (spec: S-02).

    Raises:
        InvalidCommand: with the limit in the message.
    """
    if not isinstance(key, bytes):
        raise _not_bytes(key, "key")
    if not key:
        raise InvalidCommand("a key cannot be empty", "give every row a key of 1 to 4096 bytes")
    if len(key) > MAX_KEY_BYTES:
        raise InvalidCommand(
            f"the key has {len(key)} bytes, and {MAX_KEY_BYTES} is the limit",
            "shorten it or store a hash of it",
        )


def check_payload(payload: Any) -> None:
    """Refuse an over-long payload, and what is not bytes (spec: S-02).

    Raises:
        InvalidCommand: with the limit in the message.
    """
    if not isinstance(payload, bytes):
        raise _not_bytes(payload, "payload")
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise InvalidCommand(
            f"the payload has {len(payload)} bytes, and {MAX_PAYLOAD_BYTES} is the limit",
            "split it over several rows",
        )


def _not_bytes(value: Any, what: str) -> InvalidCommand:
    return InvalidCommand(f"the {what} of a typed command is bytes, not {type(value).__name__}", f"encode the {what}")


def check_named(named: Any) -> None:
    """Refuse the named values of a row where one is wrong, or they are no dict by name.

    Raises:
        InvalidCommand: naming the key.
    """
    if not isinstance(named, dict):
        raise InvalidCommand(f"named values are a dict, not {type(named).__name__}", 'pass {"passport": "P1"}')
    for key, value in named.items():
        if key.__class__ is not str:
            raise InvalidCommand(f"the name of a named value is text, not {type(key).__name__}", "pass a str")
        check_value(value, key)


def check_value(value: Any, key: str) -> None:
    """Refuse what a named key cannot hold: floats, ints outside i64, nested lists (spec: S-03, S-04).

    Raises:
        InvalidCommand: naming `key`.
    """
    if value.__class__ is str and value.isascii() and len(value) <= MAX_NAMED_VALUE_BYTES:
        return  # by far the most common case
    if isinstance(value, (list, tuple)):
        if not value:
            raise InvalidCommand(f"named key {key!r}: a composite value needs at least one component", "or pass null")
        size = sum(_check_scalar(component, key) for component in value)
    else:
        size = _check_scalar(value, key)
    if size > MAX_NAMED_VALUE_BYTES:
        raise InvalidCommand(
            f"named key {key!r}: the value has {size} bytes, and {MAX_NAMED_VALUE_BYTES} is the limit", "shorten it"
        )


def _check_scalar(value: Any, key: str) -> int:
    """Give the size of a scalar in bytes, or refuse it."""
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, str):
        return len(value) if value.isascii() else len(_utf8(value, f"value of named key {key!r}"))
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, int):
        if not I64_MIN <= value <= I64_MAX:
            raise InvalidCommand(f"named key {key!r}: {value} does not fit a 64-bit integer", "pass it as text")
        return 8
    raise InvalidCommand(
        f"named key {key!r}: {type(value).__name__} is not a type of named values",
        "use text, integer, bool, bytes, null or a list of these",
    )


def blob_to_json(blob: bytes) -> Any:
    """Give a key or payload as JSON: a string where it is UTF-8, else `{"bytes": "<base64>"}`."""
    try:
        return blob.decode()
    except UnicodeDecodeError:
        return {"bytes": b64encode(blob).decode()}


def blob_from_json(data: Any) -> bytes:
    """Read the form that `blob_to_json` writes.

    Raises:
        InvalidCommand: `data` is neither of the two forms.
    """
    if isinstance(data, str):
        return _utf8(data, "text")
    return _bytes_from_json(data, "text")


def nested_too_deeply(what: str = "it") -> InputError:
    """Give the error for JSON that has more values inside of one another than can be read; `what` names it."""
    return InputError(f"{what} is nested too deeply", "put fewer lists and objects inside of one another")


def value_to_json(value: Any) -> Any:
    """Give a named value as JSON, its type kept."""
    if isinstance(value, bytes):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [value_to_json(component) for component in value]
    return value


def value_from_json(data: Any) -> Any:
    """Read the form that `value_to_json` writes; what it is not, `check_value` refuses.

    Raises:
        InvalidCommand: an object that is not `{"bytes": …}`.
    """
    if isinstance(data, dict):
        return _bytes_from_json(data, "text, integer, bool, null, a list of these")
    if isinstance(data, list):
        return [value_from_json(component) for component in data]
    return data


def _bytes_from_json(data: Any, others: str) -> bytes:
    """Read `{"bytes": …}`; `others` are the other forms that were allowed here."""
    if not isinstance(data, dict) or set(data) != {"bytes"} or not isinstance(data["bytes"], str):
        raise InvalidCommand(
            f'expected {others} or {{"bytes": "<base64>"}}, found {shown(data)}',
            "encode binary data as base64",
        )
    try:
        return b64decode(data["bytes"], validate=True)
    except ValueError as error:
        raise InvalidCommand(f"{shown(data['bytes'])} is not base64", "encode binary data as base64") from error
