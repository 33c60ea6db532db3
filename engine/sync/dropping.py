"""Giving entries up: each is told in the log and counted, once it is certain (spec: Y-19, Y-22)."""

import logging
import sqlite3
from collections.abc import Iterable
from typing import Any

from dex.engine.flows.records import AttributesSynced
from dex.engine.flows.runtime.parts import Parts
from dex.engine.sync import backlog
from dex.engine.sync.backlog import Mark
from dex.engine.sync.metrics import SyncMetrics

_log = logging.getLogger("dex.sync")


def used_up(last_error: str | None) -> str:
    """Give the reason of a drop after the retry budget; nothing may have been tried, as while no process writes."""
    return "its retry budget is used up" + (f": {last_error}" if last_error else "")


def drop(parts: Parts, store: str, marks: Iterable[Mark], reason: str, metrics: SyncMetrics) -> None:
    """Give marks of a store up, except those that were made again meanwhile.

    Raises:
        Unavailable: the file is busy or full; nothing was dropped.
    """
    marks = list(marks)
    entries = [(mark.run, mark.key, mark.seq) for mark in marks]
    dropped: Any = parts.commit(AttributesSynced(store=store, entries=entries, dropped=reason))
    runs = {mark.run: (mark.flow_id, mark.run_id) for mark in marks}
    report_dropped(store, [(*runs[run], key) for run, key in dropped], reason, metrics)
    forget_settled(parts, store)


def forget_settled(parts: Parts, store: str) -> None:
    """Forget the failures of runs of which nothing is pending for a store any more.

    Raises:
        Unavailable: the file is busy or full.
    """

    def forget(connection: sqlite3.Connection, *_: object) -> bool:
        backlog.forget_settled(connection, store)
        return False

    parts.writer.run(forget)


def report_dropped(store: str, entries: Iterable[tuple[str, str, str]], reason: str, metrics: SyncMetrics) -> None:
    """Tell of dropped entries, each as Flow ID, run id and key."""
    for flow_id, run_id, key in entries:
        metrics.dropped_entries.inc()
        _log.error("store %s: Flow %s, run %s: attribute %s is dropped: %s", store, flow_id, run_id, key, reason)
