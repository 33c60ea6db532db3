"""`dex flow history` (spec: FL-12)."""

from dex.cli.flowevents import event_line
from dex.cli.pagelimits import FlowLimit
from dex.cli.params import AfterEvent, FlowId, RunId
from dex.cli.session import Ctx
from dex.wcl.commands.flows import PageHistory

EXAMPLES = """
dex flow history order-1 -o table
dex flow history order-1 --after 100 --limit 50
"""


def run(
    ctx: Ctx,
    flow_id: FlowId,
    after: AfterEvent = 0,
    limit: FlowLimit = 100,
    run_id: RunId = None,
) -> None:
    """Read the events of a run: one for each commit.

    The result's next is what --after takes for the next page; the last page has none. As ndjson each event is a line,
    and a note tells whether more follow.
    """
    session = ctx.obj
    page = session.engine.execute(PageHistory(flow_id=flow_id, run_id=run_id, after=after, limit=limit))
    if session.form not in ("table", "ndjson"):
        session.out.result(page)
        return
    if session.form == "ndjson":
        session.out.result(page.events)
    else:
        for event in page.events:
            session.out.line(event_line(event))
    if page.next is not None:
        session.note(f"more follow: --after {page.next}")
