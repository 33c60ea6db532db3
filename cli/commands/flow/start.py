"""`dex flow start` (spec: FL-01, FL-02)."""

from typing import Annotated, get_args

import typer

from dex.cli.flowvalues import attributes_from, choice, input_from, milliseconds, typed_hint
from dex.cli.params import FlowId
from dex.cli.session import Ctx
from dex.wcl.commands.flowresults import TimeoutPolicy
from dex.wcl.commands.flows import IdReuse, StartFlow

EXAMPLES = """
dex flow start CustomerDirectoryFlow customer-directory
dex flow start OrderFlow order-1 --input '{"orderId": "o1", "cents": 900}' --flows samples/order_flow.py
dex flow start OrderFlow order-2 --input @order.json --attr Priority:=3 --timeout 1h
"""


def run(  # noqa: PLR0913 - each option is a parameter
    ctx: Ctx,
    flow_type: Annotated[str, typer.Argument(metavar="TYPE", help="Type of the Flow; `dex flow types` lists them.")],
    flow_id: FlowId,
    *,
    input_: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="The input; also @FILE, or - for standard input.")
    ] = None,
    attr: Annotated[
        list[str] | None,
        typer.Option("--attr", metavar="K=V", help="Attribute: k=text, k=@FILE for bytes, or k:=JSON; repeatable."),
    ] = None,
    store: Annotated[
        list[str] | None,
        typer.Option("--store", metavar="ATTRIBUTE_STORE", help="Attribute Store to sync to; repeatable."),
    ] = None,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="DURATION", help="Of the Flow, not of this command.")
    ] = None,
    timeout_policy: Annotated[
        str, typer.Option("--timeout-policy", metavar="fail|cancel|handler", help="What a timeout does.")
    ] = "fail",
    start_delay: Annotated[
        str | None, typer.Option("--start-delay", metavar="DURATION", help="Before the first Step.")
    ] = None,
    id_reuse: Annotated[
        str, typer.Option("--id-reuse", metavar="POLICY", help="When an id that had a run may get another.")
    ] = "default",
    request_id: Annotated[
        str | None, typer.Option("--request-id", metavar="ID", help="Identity of this start, for safe repeats.")
    ] = None,
    ignore_already_started: Annotated[
        bool, typer.Option("--ignore-already-started", help="Give the run that the same request id has started.")
    ] = False,
) -> None:
    """Start a Flow.

    Only the start is recorded. Steps are worked by `dex flow run`, by the wait commands, and by a process that
    serves. Policies of --id-reuse: default, allow-if-previous-failed, allow-if-not-running,
    allow-terminate-if-running, disallow.
    """
    command = StartFlow(
        type=flow_type,
        flow_id=flow_id,
        input=input_from(input_),
        attributes=attributes_from(attr or []),
        attribute_stores=store or [],
        timeout_ms=milliseconds(timeout),
        timeout_policy=choice(timeout_policy, get_args(TimeoutPolicy), "--timeout-policy"),
        start_delay_ms=milliseconds(start_delay),
        id_reuse=choice(id_reuse, get_args(IdReuse), "--id-reuse"),
        ignore_already_started=ignore_already_started,
        request_id=request_id,
    )
    with typed_hint():
        ctx.obj.out.result(ctx.obj.engine.execute(command))
