"""Sync over HTTP."""

import httpx
import pytest


@pytest.mark.spec("K-01")
def test_the_backlog_is_told_by_store_and_flow(http: httpx.Client) -> None:
    assert http.get("/v1/sync/backlog").json() == {"entries": [], "total": 0, "oldest_age_seconds": 0.0}
    assert http.get("/v1/sync/drops?store=orders&limit=1").json() == []
    assert http.get("/v1/sync/totals?after=0").json()["pending"] == 0
