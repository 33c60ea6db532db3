"""Looking at Attribute Store sync (spec: Y-24, Y-25, K-01)."""

from dex.engine.server.call import Parameter
from dex.engine.server.route import Route, reads
from dex.engine.server.routes.parameters import CREATED, UPDATED, limit, position
from dex.wcl.commands.sync import (
    MAX_ENTRIES,
    Backlog,
    BacklogEntry,
    DroppedEntry,
    ShowSyncTotals,
    SyncBacklog,
    SyncDrops,
    SyncTotals,
)

_STORE = Parameter("store", str, "Only entries of this Attribute Store.", example="orders")
_RUN_ID = "0190163d-8694-7394-ad9d-1b6a44a0f3b1"

ROUTES = (
    Route(
        method="GET",
        path="/v1/sync/backlog",
        summary="Show what the Attribute Stores have not been told of yet, the oldest first",
        tag="sync",
        parameters=(
            _STORE,
            Parameter("flow_id", str, "Only entries of this Flow.", example="order-1"),
            limit(MAX_ENTRIES, 100, "entries"),
        ),
        answer=reads(lambda call: SyncBacklog(**call.given())),
        result=Backlog,
        result_example=Backlog(
            entries=[
                BacklogEntry(
                    store="orders",
                    flow_id="order-1",
                    run_id=_RUN_ID,
                    key="Status",
                    age_seconds=3.5,
                    attempts=1,
                    next_attempt=UPDATED,
                    last_error="connection refused",
                )
            ],
            total=1,
            oldest_age_seconds=3.5,
        ),
    ),
    Route(
        method="GET",
        path="/v1/sync/drops",
        summary="Show what was given up, the latest first",
        tag="sync",
        parameters=(_STORE, limit(MAX_ENTRIES, 100, "entries")),
        answer=reads(lambda call: SyncDrops(**call.given())),
        result=list[DroppedEntry],
        result_example=[
            DroppedEntry(
                store="orders",
                flow_id="order-1",
                run_id=_RUN_ID,
                key="Status",
                dropped_at=CREATED,
                age_seconds=86400.0,
                reason="the column has another type",
            )
        ],
    ),
    Route(
        method="GET",
        path="/v1/sync/totals",
        summary="Count what is pending, given up, and written after a position of the journal",
        tag="sync",
        parameters=(position("The position of the journal to count after.", default=None),),
        answer=reads(lambda call: ShowSyncTotals(**call.given())),
        result=SyncTotals,
        result_example=SyncTotals(position=12, pending=1, oldest_age_seconds=3.5, dropped=1, rows=4),
    ),
)
