"""Durations as people write them: `250ms`, `30s`, `5m`, `1h`, `7d`."""

import re

from dex.wcl.errors import InputError

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SHORTEST = _SECONDS["ms"]
_LONGEST = 36500 * _SECONDS["d"]
_SHAPE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")


def parse_duration(text: str) -> float:
    """Give a duration in seconds.

    Raises:
        InputError: `text` is not a number with one of the units ms, s, m, h, d, is below a millisecond, or is above a
            hundred years.
    """
    seconds = parse_duration_or_zero(text)
    if seconds == 0:
        raise InputError(f"a duration of {text} is no time at all", "write one above zero, such as 30s", text=text)
    if seconds < _SHORTEST:
        raise InputError(f"a duration of {text} is too short", "1ms is the shortest", text=text)
    return seconds


def parse_duration_or_zero(text: str) -> float:
    """Give a duration in seconds, or 0 where none is written out, as `0` or with a unit.

    Raises:
        InputError: `text` is not a number with one of the units ms, s, m, h, d, or is above a hundred years.
    """
    text = text.strip()
    match = _SHAPE.fullmatch("0s" if text == "0" else text)
    if match is None:
        raise InputError(f"{text!r} is not a duration", "write it like 250ms, 30s, 5m or 1h", text=text)
    seconds = float(match[1]) * _SECONDS[match[2]]
    if seconds > _LONGEST:
        raise InputError(f"a duration of {text[:20]} is too long", "36500d is the longest", text=text)
    return seconds


def format_duration(seconds: float) -> str:
    """Give the shortest spelling with one unit that `parse_duration` reads back."""
    for unit in ("d", "h", "m", "s"):
        count = seconds / _SECONDS[unit]
        if count >= 1 and count == int(count):
            return f"{int(count)}{unit}"
    return f"{seconds * 1000:g}ms" if seconds < 1 else f"{seconds:g}s"
