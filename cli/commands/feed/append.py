"""`dex feed append` (spec: F-01)."""

from typing import Annotated

import typer

from dex.cli.params import FeedName, MutationId, Payload, RowKey
from dex.cli.session import Ctx
from dex.cli.values import key_from, metadata_from, payload_from
from dex.wcl.commands import AppendRecords, FeedRecord
from dex.wcl.errors import InputError

EXAMPLES = """
dex feed append accounts.events u1 '{"dept": "eng"}' --metadata pp=P1
dex feed append accounts.events u1 --null
"""


def run(
    ctx: Ctx,
    feed: FeedName,
    key: RowKey,
    payload: Payload = None,
    metadata: Annotated[
        list[str] | None, typer.Option("--metadata", metavar="K=V", help="Metadata entry, as text; repeatable.")
    ] = None,
    null: Annotated[bool, typer.Option("--null", help="No payload: stores over the feed delete the row.")] = False,
    mutation_id: MutationId = None,
) -> None:
    """Append a record."""
    if null and payload is not None:
        raise InputError("a record has either a payload or --null", "leave one of them out")
    record = FeedRecord(
        key=key_from(key),
        payload=None if null else payload_from(payload or ""),
        metadata=metadata_from(metadata or []),
    )
    command = AppendRecords(feed=feed, records=[record], mutation_id=mutation_id)
    ctx.obj.out.result(ctx.obj.engine.execute(command))
