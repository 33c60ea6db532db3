"""`dex sync run` (spec: Y-05, Y-06, Y-22, Y-25)."""

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dex.cli.session import Ctx
from dex.cli.syncing import open_sync

EXAMPLES = """
dex sync run --sync-config sync.yaml
dex sync run --sync-config sync.yaml --quiet
"""


def run(ctx: Ctx) -> None:
    """Write what Flows have marked to their stores, in the foreground.

    Runs until Ctrl-C or SIGTERM; what is under way is finished first. One process of a data directory writes at a
    time: another one stands by. Pending entries of stores that are not configured any more are dropped. Steps are
    not worked here, but by `dex flow run`.
    """
    session = ctx.obj
    level = logging.WARNING if session.quiet else logging.INFO
    with open_sync(session, level) as sync, _until_told() as stop:
        names = ", ".join(sync.stores) or "no store"
        session.note(f"syncing to {names}")
        sync.run(stop)


@contextmanager
def _until_told() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and the first Ctrl-C set; another Ctrl-C does not wait for what is under way.

    Raises:
        KeyboardInterrupt: at the end, if it was Ctrl-C.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    interrupted = False

    def end(number: int, _frame: object) -> None:
        nonlocal interrupted
        interrupted = interrupted or number == signal.SIGINT
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if interrupted:
        raise KeyboardInterrupt
