"""Values as messages show them: text in quotes and all else as JSON, cut where it would fill the screen."""

from typing import Any

MAX_SHOWN = 60


def shown(value: Any) -> str:
    """Give a value for a message."""
    if isinstance(value, str):
        return repr(_cut(value))
    import msgspec

    from dex.wcl.values import value_to_json

    try:
        return _cut(msgspec.json.encode(value_to_json(value), enc_hook=repr).decode())
    except RecursionError:
        return "a value nested too deeply to be shown"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
