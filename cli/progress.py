"""Progress of long work, drawn on standard error where a person looks at it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dex.cli.session import Session


@contextmanager
def progress(session: Session, what: str, total: int | None, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Give a function to call with each advance; `total` is None where the end is unknown.

    Without a terminal, when quiet, or if not `shown`, nothing is drawn and rich is not imported. What is written to the
    same terminal meanwhile would stand in the bar, so results wait until it is gone.
    """
    if not shown or session.quiet or not sys.stderr.isatty():
        yield lambda _amount: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    console = Console(stderr=True, no_color=not session.style.color)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda amount: bar.advance(task, amount)
