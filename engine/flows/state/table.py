"""The apply functions of Flow records, for the state machine."""

from collections.abc import Callable
from typing import Any

from dex.engine.apply import Apply, Outcome
from dex.engine.flows.records import (
    AttributesErased,
    AttributesSynced,
    CloseEnded,
    ConfigUpdated,
    RunCommitted,
    RunPurged,
    RunStarted,
    RunStopped,
    RunTraveled,
    TimersFired,
)
from dex.engine.flows.state import closing, commits, outbox, purging, starting, travel

APPLY: dict[type[Any], Callable[[Apply, Any], Outcome]] = {
    RunStarted: starting.start,
    RunCommitted: commits.commit,
    TimersFired: commits.fire_timers,
    CloseEnded: closing.end_close,
    RunStopped: closing.stop,
    RunTraveled: travel.travel,
    RunPurged: purging.purge,
    AttributesErased: purging.erase,
    AttributesSynced: outbox.acknowledge,
    ConfigUpdated: purging.update_config,
}
