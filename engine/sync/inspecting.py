"""Commands that look at sync; they need no destination and no configuration (spec: Y-25)."""

from collections.abc import Callable
from typing import Any

from dex.engine import journal
from dex.engine.clock import iso
from dex.engine.flows.records import AttributesSynced
from dex.engine.reader import Snapshot
from dex.engine.sync import backlog
from dex.wcl.commands.sync import (
    Backlog,
    BacklogEntry,
    DroppedEntry,
    ShowSyncTotals,
    SyncBacklog,
    SyncDrops,
    SyncTotals,
)


def sync_backlog(snapshot: Snapshot, command: SyncBacklog, now_ms: int) -> Backlog:
    """Give the oldest pending entries and how much is pending in all."""
    connection = snapshot.connection
    found = backlog.entries(connection, command.store, command.flow_id, command.limit)
    total, oldest_at = backlog.totals(connection, command.store, command.flow_id)
    entries = [
        BacklogEntry(
            store=entry.store,
            flow_id=entry.flow_id,
            run_id=entry.run_id,
            key=entry.key,
            age_seconds=_age(now_ms, entry.marked_at),
            attempts=entry.attempts,
            next_attempt=None if entry.next_at is None else iso(entry.next_at),
            last_error=entry.last_error,
        )
        for entry in found
    ]
    oldest = 0.0 if oldest_at is None else _age(now_ms, oldest_at)
    return Backlog(entries=entries, total=total, oldest_age_seconds=oldest)


def sync_drops(snapshot: Snapshot, command: SyncDrops, _now_ms: int) -> list[DroppedEntry]:
    """Give what was given up, the latest first."""
    return [
        DroppedEntry(
            store=drop.store,
            flow_id=drop.flow_id,
            run_id=drop.run_id,
            key=drop.key,
            dropped_at=iso(drop.dropped_at),
            age_seconds=_age(drop.dropped_at, drop.marked_at),
            reason=drop.reason,
        )
        for drop in backlog.drops(snapshot.connection, command.store, command.limit)
    ]


def sync_totals(snapshot: Snapshot, command: ShowSyncTotals, now_ms: int) -> SyncTotals:
    """Count what is pending, given up and written."""
    pending, oldest_at = backlog.totals(snapshot.connection)
    return SyncTotals(
        position=snapshot.seq,
        pending=pending,
        oldest_age_seconds=0.0 if oldest_at is None else _age(now_ms, oldest_at),
        dropped=backlog.dropped(snapshot.connection),
        rows=0 if command.after is None else _rows_since(snapshot, command.after),
    )


def _rows_since(snapshot: Snapshot, position: int) -> int:
    """Count the rows that were written after a position, as the journal tells of what stores have taken."""
    found = (entry.mutation for entry in journal.read(snapshot.connection, position))
    return sum(record.rows for record in found if isinstance(record, AttributesSynced))


def _age(now_ms: int, then_ms: int) -> float:
    return max(0, now_ms - then_ms) / 1000


HANDLERS: dict[type[Any], Callable[[Snapshot, Any, int], Any]] = {
    SyncBacklog: sync_backlog,
    SyncDrops: sync_drops,
    ShowSyncTotals: sync_totals,
}
