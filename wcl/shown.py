"""Values and exceptions as messages show them.

Text is in quotes and all else JSON, cut where it would fill the screen.
"""

from typing import Any

MAX_SHOWN = 60


def shown(value: Any) -> str:
    """Give a value for a message."""
    if isinstance(value, str):
        return repr(_cut(value))
    import msgspec

    from dex.wcl.edge import to_edge

    try:
        return _cut(msgspec.json.encode(to_edge(value)).decode())
    except TypeError:  # no value of ours
        return _cut(repr(value))
    except RecursionError:
        return "a value nested too deeply to be shown"


def shown_error(error: BaseException) -> str:
    """Give an exception that anybody's code may have raised for a message: its type, and its text if it has one."""
    text = text_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def text_of(value: object) -> str:
    """Give the text of a value of anybody's class, whose own code makes it and may raise."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001  # as said
        return "its text cannot be read"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
