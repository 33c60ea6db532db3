"""The metrics of sync, with exactly the names that the documentation promises (spec: Y-24)."""

from collections.abc import Collection

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from dex.wcl.commands.sync import SyncTotals


class SyncMetrics:
    """Counters and gauges in a registry of their own, so that two engines in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.backlog_entries = Gauge(
            "dexzd_attribute_sync_backlog_entries",
            "Entries waiting to be written, as of the last scan",
            registry=self.registry,
        )
        self.oldest_pending_age = Gauge(
            "dexzd_attribute_sync_oldest_pending_age_seconds",
            "Age of the oldest pending entry's retry window, 0 when none",
            registry=self.registry,
        )
        self.write_failures = Counter(
            "dexzd_attribute_sync_write_failures_total",
            "Failed write transactions; non-retryable failures drop their entries",
            ["failure_kind"],
            registry=self.registry,
        )
        self.dropped_entries = Counter(
            "dexzd_attribute_sync_dropped_entries_total",
            "Entries dropped after the retry policy was exhausted or the store rejected them",
            registry=self.registry,
        )
        self.fenced_writes = Counter(
            "dexzd_attribute_sync_fenced_writes_total",
            "Writes rejected because a newer owner raised the fencing token",
            registry=self.registry,
        )
        for kind in ("retryable", "non_retryable"):
            self.write_failures.labels(kind)  # a counter that nothing has raised yet is 0, not absent

    def show_pending(self, entries: int, age_seconds: float) -> None:
        """Set the gauges of what is pending: how many entries, and the age of the oldest."""
        self.backlog_entries.set(entries)
        self.oldest_pending_age.set(age_seconds)

    def render(self, unknown: Collection[str] = ()) -> str:
        """Give the metrics in Prometheus' text format; those that are `unknown` are described, without a value."""
        text = generate_latest(self.registry).decode()
        # When a counter began is a series of its own to the library, and none that is promised.
        lines = [line for line in text.splitlines() if "_created" not in line and not line.startswith(tuple(unknown))]
        return "\n".join(lines) + "\n"


def as_seen_from_outside(totals: SyncTotals) -> str:
    """Give what a process that does not write the stores can tell, from the file alone (spec: Y-24).

    Gauges are of this moment, dropped entries are all that the file remembers. Failures and fenced writes are counted
    by the process that meets them and by nobody else, so they have no value here: zero would be a lie.
    """
    metrics = SyncMetrics()
    metrics.show_pending(totals.pending, totals.oldest_age_seconds)
    metrics.dropped_entries.inc(totals.dropped)
    return metrics.render(unknown=("dexzd_attribute_sync_write_failures_total", "dexzd_attribute_sync_fenced_writes"))
