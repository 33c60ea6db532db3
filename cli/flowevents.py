"""An event of a Flow's history as a line for people."""

from typing import Any

import msgspec

from dex.wcl.commands.flowresults import HistoryEvent
from dex.wcl.edge import to_edge

_FIRST = ("step", "rpc", "channel", "outcome")


def event_line(event: HistoryEvent) -> str:
    """Give the number, the time, the kind and what the commit did."""
    detail = {**{name: event.detail[name] for name in _FIRST if name in event.detail}, **event.detail}
    said = [f"{name} {_words(value)}" for name, value in detail.items()]
    wrote = [f"wrote {', '.join(event.attributes)}"] if event.attributes else []
    return f"{event.number:>4}  {event.at}  {event.kind:<16}  {'; '.join([*said, *wrote])}".rstrip()


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    return msgspec.json.encode(to_edge(value)).decode()
