"""`dex sync backlog --watch`: looks every second; draws on a terminal, and writes a line for each look elsewhere."""

import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from dex.cli.session import Session
from dex.wcl.commands.sync import Backlog, ShowSyncTotals, SyncBacklog

if TYPE_CHECKING:
    from rich.console import Group

_SECONDS = 1.0
_HISTORY = 60
_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS = ("store", "flow_id", "key", "age_seconds", "attempts", "next_attempt", "last_error")
# Lines of the screen that are not entries: two curves, a title, a header with its rule, a margin.
_FRAME_LINES = 7


class Look(NamedTuple):
    """What one look found: when, in seconds; the backlog; and rows written per second since the look before."""

    at: str
    backlog: Backlog
    rows_per_second: float


def watch_backlog(session: Session, command: SyncBacklog) -> Iterator[Backlog]:
    """Show the backlog every second until the caller stops; give it after each time it was shown."""
    if session.form == "table" and sys.stdout.isatty():
        yield from _drawn(session, command)
        return
    header = True
    for look in _looks(session, command):
        session.out.items([_line(look)], ["at", "total", "oldest_age_seconds", "rows_per_second"], header=header)
        session.out.flush()
        header = False
        yield look.backlog


def sparkline(values: list[float]) -> str:
    """Give a curve of block characters from zero to the largest value; a value above zero never looks like none."""
    top = max(values, default=0.0)
    steps = len(_BARS) - 1
    return "".join(_BARS[0 if value <= 0 else max(1, round(value / top * steps))] for value in values)


def _looks(session: Session, command: SyncBacklog) -> Iterator[Look]:
    engine = session.engine
    position = engine.execute(ShowSyncTotals()).position
    looked = time.monotonic()
    while True:
        totals = engine.execute(ShowSyncTotals(after=position))
        position = totals.position
        now = time.monotonic()
        rate = totals.rows / max(now - looked, _SECONDS)
        looked = now
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        yield Look(at, engine.execute(command), round(rate, 1))
        time.sleep(max(0.0, _SECONDS - (time.monotonic() - now)))


def _line(look: Look) -> dict[str, object]:
    backlog = look.backlog
    return {
        "at": look.at,
        "total": backlog.total,
        "oldest_age_seconds": backlog.oldest_age_seconds,
        "rows_per_second": look.rows_per_second,
    }


def _drawn(session: Session, command: SyncBacklog) -> Iterator[Backlog]:
    from rich.console import Console
    from rich.live import Live

    sizes: deque[float] = deque(maxlen=_HISTORY)
    rates: deque[float] = deque(maxlen=_HISTORY)
    console = Console(no_color=not session.out.color, highlight=False)
    with Live(console=console, auto_refresh=False, screen=False) as live:
        for look in _looks(session, command):
            sizes.append(look.backlog.total)
            rates.append(look.rows_per_second)
            live.update(_screen(look, list(sizes), list(rates), console.height - _FRAME_LINES), refresh=True)
            yield look.backlog


def _screen(look: Look, sizes: list[float], rates: list[float], lines: int) -> "Group":
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from dex.cli.render.text import printable

    backlog = look.backlog
    curves = Table(box=None, show_header=False, pad_edge=False)
    curves.add_row("pending", str(backlog.total), Text(sparkline(sizes), style="yellow"))
    curves.add_row("rows/s", f"{look.rows_per_second:g}", Text(sparkline(rates), style="green"))
    curves.add_row("oldest", f"{backlog.oldest_age_seconds:.1f} s", Text(look.at, style="dim"))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in _COLUMNS:
        table.add_column(name, no_wrap=True, justify="right" if name in ("age_seconds", "attempts") else "left")
    for entry in backlog.entries[: max(0, lines)]:
        cells = (getattr(entry, name) for name in _COLUMNS)
        table.add_row(*("" if cell is None else Text(printable(str(cell))) for cell in cells))
    return Group(curves, *([table] if backlog.entries else []))
