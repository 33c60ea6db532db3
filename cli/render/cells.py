r"""Values as cells of tables, for people: safe to look at, and types told apart.

Text that would read as another value is in quotes: `"3"` is text and `3` a number, `null` is null and `"null"` text.
Keys and payloads are never another value than text and bytes, so they are as they are.
Bytes that are not text are `\x00\xff`. A value that is not set is an empty cell, and empty text is `""`.
"""

import re
from base64 import b64decode
from typing import Any

import msgspec

from dex.cli.render.rows import MISSING
from dex.cli.render.text import printable

_READS_AS_OTHER = re.compile(r'[-+]?\d+(\.\d+)?|true|false|null|".*"|\\x.*|\s.*|.*\s|', re.DOTALL)
_BLOBS = frozenset({"key", "payload", "next_key"})
_VALUE_PREFIX = "named."


def cell(column: str, value: Any) -> str:
    """Give a value as one line of text."""
    if value.__class__ is str:
        quoted = column not in _BLOBS and _READS_AS_OTHER.fullmatch(value)
        return f'"{printable(value)}"' if quoted else printable(value)
    if value is MISSING:
        return ""
    data = _as_bytes(value)
    if data is not None:
        return _bytes(data)
    if isinstance(value, list) and not column.startswith(_VALUE_PREFIX):
        listed = _listed(value)
        if listed is not None:
            return printable(listed)
    return printable(msgspec.json.encode(value).decode())


def _as_bytes(value: Any) -> bytes | None:
    """Give what `{"bytes": "<base64>"}` stands for; None for all else, such as a dict that only looks like it."""
    if not isinstance(value, dict) or set(value) != {"bytes"}:
        return None
    try:
        return b64decode(value["bytes"], validate=True)
    except (ValueError, TypeError):
        return None


def _bytes(data: bytes) -> str:
    text = "".join(chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else f"\\x{byte:02x}" for byte in data)
    return text if text.startswith("\\") or "\\x" in text else data.hex(" ").replace(" ", "\\x").join(("\\x", ""))


def _listed(items: list[Any]) -> str | None:
    """Give a list of names, or of declared keys as WCL writes them; None for another one."""
    if all(isinstance(item, str) and "," not in item for item in items):
        return ", ".join(items)
    if all(isinstance(item, dict) and item.keys() <= {"name", "unique", "extractor"} for item in items):
        from dex.wcl.commands import NamedKey
        from dex.wcl.format import format_named_key

        return ", ".join(format_named_key(msgspec.convert(item, NamedKey)) for item in items)
    return None
