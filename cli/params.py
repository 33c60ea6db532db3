"""Arguments and options that several commands share. Completion goes by the metavar."""

from typing import Annotated, TypeAlias

import typer

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
WaitMs: TypeAlias = Annotated[int, typer.Option("--wait-ms", metavar="N", help="How long a strict read waits.")]
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
Limit: TypeAlias = Annotated[int, typer.Option("--limit", metavar="N", help="How many at most.")]
