"""The metrics that people watch."""

import re

import pytest

from dex.engine.sync.metrics import SyncMetrics


@pytest.mark.spec("Y-24")
def test_the_five_metrics_have_exactly_their_names_and_labels() -> None:
    """Both kinds of failure are there from the start."""
    lines = [line for line in SyncMetrics().render().splitlines() if not line.startswith("#")]
    assert lines == [
        "dexzd_attribute_sync_backlog_entries 0.0",
        "dexzd_attribute_sync_oldest_pending_age_seconds 0.0",
        'dexzd_attribute_sync_write_failures_total{failure_kind="retryable"} 0.0',
        'dexzd_attribute_sync_write_failures_total{failure_kind="non_retryable"} 0.0',
        "dexzd_attribute_sync_dropped_entries_total 0.0",
        "dexzd_attribute_sync_fenced_writes_total 0.0",
    ]


@pytest.mark.spec("Y-24")
def test_metrics_count_and_explain_themselves() -> None:
    """Two engines in one process do not mix."""
    metrics, other = SyncMetrics(), SyncMetrics()
    metrics.backlog_entries.set(3)
    metrics.oldest_pending_age.set(1.5)
    metrics.write_failures.labels(failure_kind="retryable").inc()
    metrics.dropped_entries.inc(2)
    metrics.fenced_writes.inc()
    values = re.findall(r"^dexzd\S+ (\S+)$", metrics.render(), re.MULTILINE)
    assert values == ["3.0", "1.5", "1.0", "0.0", "2.0", "1.0"]
    assert set(re.findall(r"^dexzd\S+ (\S+)$", other.render(), re.MULTILINE)) == {"0.0"}
    assert metrics.render().count("# HELP") == 5
