"""Values as messages show them: text in quotes and all else as JSON, cut where it would fill the screen."""

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


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
