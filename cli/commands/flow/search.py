"""`dex flow search` (spec: FL-12)."""

from typing import Annotated, get_args

import typer

from dex.cli.flowvalues import attributes_from, choice
from dex.cli.pagelimits import FlowLimit
from dex.cli.session import Ctx
from dex.wcl.commands.flowresults import Status
from dex.wcl.commands.flows import SearchFlows

EXAMPLES = """
dex flow search --type OrderFlow --status running
dex flow search --attr Status=open --attr Priority:=3 --limit 20
"""


def run(
    ctx: Ctx,
    flow_type: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Only this type.")] = None,
    status: Annotated[
        str | None,
        typer.Option("--status", metavar="STATUS", help="running, completed, failed, canceled or terminated."),
    ] = None,
    attr: Annotated[
        list[str] | None,
        typer.Option("--attr", metavar="K=V", help="Attribute with this value: k=text or k:=JSON; repeatable."),
    ] = None,
    limit: FlowLimit = 100,
    page_token: Annotated[
        str | None, typer.Option("--page-token", metavar="TOKEN", help="The next_page_token of a page.")
    ] = None,
) -> None:
    """Find runs, the newest first.

    The result's next_page_token is what --page-token takes for the next page; the last page has none. As ndjson each
    run is a line, and a note tells whether more follow.
    """
    command = SearchFlows(
        type=flow_type,
        status=None if status is None else choice(status, get_args(Status), "--status"),
        attributes=attributes_from(attr or []),
        limit=limit,
        page_token=page_token,
    )
    session = ctx.obj
    page = session.engine.execute(command)
    if session.form != "ndjson":
        session.out.result(page)
        return
    session.out.result(page.flows)
    if page.next_page_token is not None:
        session.note(f"more follow: --page-token {page.next_page_token}")
