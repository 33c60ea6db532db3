"""Arguments and options that several commands share. Completion goes by the metavar."""

from collections.abc import Callable
from typing import Annotated, TypeAlias

import typer

from dex.wcl.commands import MAX_PAGE
from dex.wcl.commands.base import MAX_WAIT_MS
from dex.wcl.errors import InputError
from dex.wcl.values import I64_MAX


def between(least: int, most: int = I64_MAX) -> Callable[[typer.CallbackParam, int | None], int | None]:
    """Give the callback of an option whose number is in this range; it raises InputError for any other."""

    def check(option: typer.CallbackParam, number: int | None) -> int | None:
        if number is not None and not least <= number <= most:
            remedy = f"write {least} or more" if number < least else f"write {most} or less"
            raise InputError(f"{option.opts[0]} is {number}, and {least} to {most} is allowed", remedy)
        return number

    return check


StoreName: TypeAlias = Annotated[str, typer.Argument(metavar="STORE", help="Name of the store.")]
FeedName: TypeAlias = Annotated[str, typer.Argument(metavar="FEED", help="Name of the feed.")]
RowKey: TypeAlias = Annotated[
    str, typer.Argument(metavar="KEY", help='Key of the row: text, or := and JSON text or {"bytes": ...}.')
]
Payload: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="PAYLOAD",
        help="Text, @FILE, or - for standard input; @@ begins text that begins with @. Nothing is an empty payload.",
    ),
]
MutationId: TypeAlias = Annotated[
    str | None, typer.Option("--mutation-id", metavar="ID", help="Identity of this write, for safe repeats.")
]
Strict: TypeAlias = Annotated[bool, typer.Option("--strict", help="Wait until the store has all that is committed.")]
WaitMs: TypeAlias = Annotated[
    int,
    typer.Option("--wait-ms", metavar="N", callback=between(0, MAX_WAIT_MS), help="How long a strict read waits."),
]
FlowId: TypeAlias = Annotated[str, typer.Argument(metavar="FLOW_ID", help="Id of the Flow.")]
Channel: TypeAlias = Annotated[
    str, typer.Argument(metavar="CHANNEL", help="Name of the Channel, or MAP/INSTANCE of a ChannelMap.")
]
RunId: TypeAlias = Annotated[
    str | None, typer.Option("--run-id", metavar="RUN_ID", help="This run; default: the latest.")
]
ExactRunId: TypeAlias = Annotated[
    str, typer.Option("--run-id", metavar="RUN_ID", help="The run, exactly, as `dex flow describe` tells it.")
]
Wait: TypeAlias = Annotated[
    str, typer.Option("--wait", metavar="DURATION", help="How long to wait at most, up to 10m.")
]
Limit: TypeAlias = Annotated[
    int, typer.Option("--limit", metavar="N", callback=between(1, MAX_PAGE), help="How many at most.")
]
AfterEvent: TypeAlias = Annotated[
    int, typer.Option("--after", metavar="N", callback=between(0), help="Start after this event; default: all.")
]
