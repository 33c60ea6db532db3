"""How a named value is kept in a column: so that equal means the same type and value, and SQLite compares it.

Text and integers are kept as SQLite's own; bytes, bools, null and lists as a blob that begins with a tag. An
absent value is SQL NULL, which is not the same as an explicit null (spec: S-03, S-04).
"""

from typing import Any

import msgspec

NULL = b"\x00"
_FALSE, _TRUE = b"\x01\x00", b"\x01\x01"
_BYTES, _LIST = b"\x02", b"\x03"


def plain(value: Any) -> str | int | bytes:
    """Give a subclass of text, integers or bytes, such as an enum's member, as the plain value it stands for.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, bytes):
        return bytes(value)
    raise TypeError(f"{type(value).__name__} is not a type of named values")


_encode_list = msgspec.msgpack.Encoder(enc_hook=plain).encode
_decode_list = msgspec.msgpack.Decoder(list).decode


def to_column(value: Any) -> str | int | bytes:
    """Give the column form of a checked named value."""
    kind = type(value)
    if kind is str or kind is int:
        return value  # type: ignore[no-any-return]  # one of the two, by its exact type
    if value is None:
        return NULL
    if kind is bool:
        return _TRUE if value else _FALSE
    if isinstance(value, bytes):
        return _BYTES + value
    if isinstance(value, (str, int)):
        return plain(value)
    return _LIST + _encode_list(list(value))


def from_column(stored: Any) -> Any:
    """Give the named value back; not for SQL NULL, which means that there is none."""
    if type(stored) is not bytes:
        return stored
    tag = stored[:1]
    if tag == _LIST:
        return _decode_list(stored[1:])
    if tag == _BYTES:
        return stored[1:]
    return None if stored == NULL else stored == _TRUE
