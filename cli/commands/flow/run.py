"""`dex flow run` (spec: FL-08)."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from dex.cli.flowwork import worker_notes
from dex.cli.session import Ctx

if TYPE_CHECKING:
    from dex.engine.flows.runtime.worker import Worker

EXAMPLES = """
dex flow run --flows samples/order_flow.py
dex flow run --flows orders.py --until-idle
"""


def run(
    ctx: Ctx,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when nothing is due; timers of later are not waited for.")
    ] = False,
) -> None:
    """Work Steps and timers in the foreground.

    Works the Flow types that are loaded, until Ctrl-C or SIGTERM; what is under way is finished first, unless you ask
    a second time. One process of a data directory works at a time: another one stands by. A Step has no time limit
    but the one it declares; one that runs for more than a minute is told of, and does not hold up the others.
    """
    session = ctx.obj
    session.only_reads = True  # it may be repeated
    flows = session.local.flows
    worked = [name for name, known in sorted(flows.parts.registry.types.items()) if known.steps]
    if not worked:
        session.note("no Flow type that is loaded has Steps; name yours with --flows")
    else:
        session.note(f"working {', '.join(worked)}")
    with _until_terminated(flows.worker), worker_notes(session):
        flows.worker.run(until_idle=until_idle)


@contextmanager
def _until_terminated(worker: "Worker") -> Iterator[None]:
    """Let SIGTERM end the work after the Steps that are under way, and a second one at once, like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_signal: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        worker.stop()

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
