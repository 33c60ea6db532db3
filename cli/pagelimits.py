"""How many at most: the option of commands whose modules are not loaded for those of stores and feeds."""

from typing import Annotated, TypeAlias

import typer

from dex.cli.params import between
from dex.wcl.commands.flows import MAX_FLOW_PAGE
from dex.wcl.commands.sync import MAX_ENTRIES

FlowLimit: TypeAlias = Annotated[
    int, typer.Option("--limit", metavar="N", callback=between(1, MAX_FLOW_PAGE), help="How many at most.")
]
SyncLimit: TypeAlias = Annotated[
    int, typer.Option("--limit", metavar="N", callback=between(1, MAX_ENTRIES), help="How many at most.")
]
