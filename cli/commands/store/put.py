"""`dex store put` (spec: S-01)."""

from typing import Annotated

import typer

from dex.cli.params import MutationId, Payload, RowKey, StoreName
from dex.cli.session import Ctx
from dex.cli.values import assignments, key_from, payload_from
from dex.wcl.commands import PutRow

EXAMPLES = """
dex store put accounts.employees u1 "profile" --named passport=P1 --named level:=3
dex store put accounts.employees u2 @profile.bin --mutation-id 7f3c
"""


def run(
    ctx: Ctx,
    store: StoreName,
    key: RowKey,
    payload: Payload = None,
    named: Annotated[
        list[str] | None,
        typer.Option("--named", metavar="NAMED_KEY=V", help="Named value: k=text, k:=JSON or k=@FILE; repeatable."),
    ] = None,
    mutation_id: MutationId = None,
) -> None:
    """Write a row.

    The whole row is replaced, its named values included.
    """
    command = PutRow(
        store=store,
        key=key_from(key),
        payload=b"" if payload is None else payload_from(payload),
        named=assignments(named or []),
        mutation_id=mutation_id,
    )
    ctx.obj.out.result(ctx.obj.engine.execute(command))
