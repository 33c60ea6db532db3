"""`dex flow invoke` (spec: FL-05, FL-07)."""

from typing import Annotated

import typer

from dex.cli.flowvalues import input_from
from dex.cli.output import prints_aside
from dex.cli.params import FlowId, between
from dex.cli.session import Ctx
from dex.wcl.commands.flows import InvokeRpc

EXAMPLES = """
dex flow invoke chunked-subscribers RegisterSubscriber --input '{"subscriberId": "s1", "deliveryAddress": "a@b.test"}'
dex flow invoke customer-directory GetCustomerProfileByEmail --input '"bob@example.com"' \\
    --load CustomerProfilesByEmailPartition/partition-145
dex flow invoke order-1 cancel --input '"too late"' --retry 5
"""

_MOST_RETRIES = 1000


def run(
    ctx: Ctx,
    flow_id: FlowId,
    rpc: Annotated[str, typer.Argument(metavar="RPC", help="Name of the RPC.")],
    input_: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="The input; also @FILE, or - for standard input.")
    ] = None,
    lock: Annotated[
        list[str] | None,
        typer.Option("--lock", metavar="ATTRIBUTE", help="Attribute or MAP/INSTANCE to lock too; repeatable."),
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option("--load", metavar="ATTRIBUTE", help="MAP/INSTANCE to load too; repeatable."),
    ] = None,
    retry: Annotated[
        int,
        typer.Option(
            "--retry",
            metavar="N",
            callback=between(0, _MOST_RETRIES),
            help="Try again up to N times while a lock is held.",
        ),
    ] = 0,
) -> None:
    """Call an RPC.

    Locks and loads are united with what the RPC declares. A call that loses a lock has exit code 3 and changed
    nothing.
    """
    command = InvokeRpc(flow_id=flow_id, rpc=rpc, input=input_from(input_), lock=lock or [], load=load or [])
    with prints_aside():
        if retry:
            from dex.engine.lockretry import LockRetry

            answer = LockRetry(attempts=retry + 1).run(lambda: ctx.obj.engine.execute(command))
        else:
            answer = ctx.obj.engine.execute(command)
    ctx.obj.out.result(answer)
