"""`dex store define` (spec: W-01, W-02)."""

from typing import Annotated

import typer

from dex.cli.keyoptions import named_key
from dex.cli.params import StoreName
from dex.cli.session import Ctx
from dex.cli.settling import settle
from dex.wcl.commands import (
    DefineStateStore,
    DescribeStateStore,
    FromFeed,
    Manual,
)
from dex.wcl.wire import to_json

EXAMPLES = """
dex store define accounts.employees --key passport:unique --key department
dex store define accounts.tagged --from-feed accounts.events \\
    --key passport:unique=metadata:pp --key department=json:dept --key id=record_key
"""


def run(
    ctx: Ctx,
    store: StoreName,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="KEY", help="NAME[:unique], with a feed NAME[:unique]=EXTRACTOR; repeatable."),
    ] = None,
    from_feed: Annotated[
        str | None, typer.Option("--from-feed", metavar="FEED", help="Materialise this feed into the store.")
    ] = None,
) -> int:
    """Declare a store.

    An EXTRACTOR is metadata:NAME, json:DOTTED.PATH or record_key. The result is that of describe, and whether the
    store was created or is unchanged.
    """
    session = ctx.obj
    source = Manual() if from_feed is None else FromFeed(from_feed)
    keys = [named_key(text) for text in key or []]
    defined = session.engine.execute(DefineStateStore(name=store, source=source, named_keys=keys))
    if defined.note:
        session.warn_unchanged(defined.note)
    code = settle(session, store) if from_feed is not None else 0
    description = session.engine.execute(DescribeStateStore(name=store))
    session.out.result({"status": defined.status, **to_json(description)})
    return code
