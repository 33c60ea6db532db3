"""`dex flow watch` (spec: FL-12)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dex.cli.flowevents import event_line
from dex.cli.params import AfterEvent, FlowId, RunId
from dex.cli.session import Ctx
from dex.wcl.commands.flowresults import HistoryEvent
from dex.wcl.commands.flows import DescribeFlow, PageHistory

if TYPE_CHECKING:
    from dex.engine.protocol import Engine

EXAMPLES = """
dex flow watch order-1
dex flow watch order-1 --after 0 -o ndjson
"""

COLUMNS = ["number", "at", "kind", "attributes", "detail"]
_WAIT_MS = 1000
_PAGE = 100


def run(
    ctx: Ctx,
    flow_id: FlowId,
    after: AfterEvent = 0,
    run_id: RunId = None,
) -> None:
    """Follow the events of a run.

    Writes each event as it is committed, until the run is closed or Ctrl-C. It follows one run: another run of the
    same id is not shown.
    """
    session = ctx.obj
    head = session.engine.execute(DescribeFlow(flow_id=flow_id, run_id=run_id))
    header = True
    for events in _pages(session.engine, flow_id, head.run_id, after):
        if session.form == "table":
            for event in events:
                session.out.line(event_line(event))
        else:
            session.out.items(events, COLUMNS, header=header)
            session.out.flush()
        header = False
    session.note(f"the run is {_status(session.engine, flow_id, head.run_id)}")


def _pages(engine: "Engine", flow_id: str, run_id: str, after: int) -> Iterator[list[HistoryEvent]]:
    """Give events as they come. Once the run is closed none follows, so a page asked for after that is the last."""
    closed = False
    while True:
        wait_ms = 0 if closed else _WAIT_MS
        page = engine.execute(PageHistory(flow_id=flow_id, run_id=run_id, after=after, limit=_PAGE, wait_ms=wait_ms))
        if page.events:
            yield page.events
            after = page.events[-1].number
        elif closed:
            return
        else:
            closed = _status(engine, flow_id, run_id) != "running"


def _status(engine: "Engine", flow_id: str, run_id: str) -> str:
    return engine.execute(DescribeFlow(flow_id=flow_id, run_id=run_id)).status
