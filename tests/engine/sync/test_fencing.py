"""Fencing: a node that lost its lease cannot overwrite newer values."""

import threading
from typing import Any

import psycopg
import pytest

from dex.engine.sync.batch import Fence, Outcome, WriteResult
from dex.engine.sync.destination import Destination
from tests.engine.sync.conftest import FENCE, OpenStore, batch
from tests.postgres import Database

NEWER = FENCE._replace(epoch=8)
TABLES = """
CREATE TABLE orders (id text PRIMARY KEY, total bigint);
CREATE TABLE items (id text, item text, n bigint, PRIMARY KEY (id, item));
"""
TOKENS = "SELECT store_name, cluster_id, scope, fencing_token FROM dexzd_attribute_sync_fencing ORDER BY 1, 2, 3"


@pytest.fixture
def store(database: Database, open_store: OpenStore) -> Destination:
    database.execute(TABLES)
    return open_store(maps={"Items": ("items", "item")})


@pytest.mark.spec("Y-16")
@pytest.mark.parametrize("entries", [{"total": 1}, {"Items/a": None}, {"Items/a": {"n": 1}, "Items/b": None}])
def test_every_transaction_raises_the_fencing_row(
    entries: dict[str, Any], database: Database, store: Destination
) -> None:
    """There is one row for each store, cluster and scope, and it says when it was raised."""
    store.write(batch("f1", entries), FENCE)
    store.write(batch("f1", entries), Fence("cluster-1", "1", 7))
    store.write(batch("f1", entries), Fence("cluster-2", "0", 1))
    store.write(batch("f1", entries), NEWER)
    assert database.rows(TOKENS) == [
        ("orders", "cluster-1", "0", 8), ("orders", "cluster-1", "1", 7), ("orders", "cluster-2", "0", 1),
    ]  # fmt: skip
    assert database.rows("SELECT bool_and(updated_at <= clock_timestamp()) FROM dexzd_attribute_sync_fencing")


@pytest.mark.spec("Y-16")
@pytest.mark.parametrize("entries", [{"total": 2}, {"Items/a": {"n": 2}}, {"Items/a": None}])
def test_a_newer_owner_rejects_the_write(entries: dict[str, Any], database: Database, store: Destination) -> None:
    """In whatever scope; the rows and the token keep what the newer owner wrote (case 43)."""
    store.write(batch("f1", {"total": 1, "Items/a": {"n": 1}}), NEWER)
    result = store.write(batch("f1", entries), FENCE)
    assert (result.outcome, result.token) == (Outcome.FENCED, 8)
    elsewhere = store.write(batch("f1", entries), FENCE._replace(scope="1"))
    assert (elsewhere.outcome, elsewhere.token) == (Outcome.FENCED, 8)
    assert database.rows("SELECT total, n FROM orders, items") == [(1, 1)]
    assert database.rows(TOKENS) == [("orders", "cluster-1", "0", 8)]
    assert store.write(batch("f1", total=3), NEWER).outcome is Outcome.WRITTEN


@pytest.mark.spec("Y-16")
@pytest.mark.parametrize("entries", [{"total": 2}, {"Items/a": None}])
def test_a_write_that_meets_a_newer_owner_under_way_waits_and_is_rejected(
    entries: dict[str, Any], database: Database, store: Destination
) -> None:
    """Its statement began before the newer owner committed, and still sees the token."""
    store.write(batch("f1", {"total": 1, "Items/a": {"n": 1}}), FENCE)
    with psycopg.connect(database.dsn) as newer:
        newer.execute("UPDATE dexzd_attribute_sync_fencing SET fencing_token = 8")
        late = _Late(store, entries)
        _wait_until_blocked(database)
        newer.commit()
    assert late.result().outcome is Outcome.FENCED
    assert database.rows("SELECT total, n FROM orders, items") == [(1, 1)]


@pytest.mark.spec("Y-11", "Y-16")
def test_a_delete_sees_what_an_earlier_owner_commits_meanwhile(database: Database, store: Destination) -> None:
    """A row that appears while the delete waits for the fencing row is deleted too, and does not stay for ever."""
    store.write(batch("f1", total=1), FENCE)
    with psycopg.connect(database.dsn) as earlier:
        earlier.execute("UPDATE dexzd_attribute_sync_fencing SET updated_at = now()")
        earlier.execute("INSERT INTO items VALUES ('f1', 'a', 1)")
        late = _Late(store, {"Items/a": None})
        _wait_until_blocked(database)
        earlier.commit()
    assert late.result().outcome is Outcome.WRITTEN
    assert database.rows("SELECT * FROM items") == []


@pytest.mark.spec("Y-17")
def test_a_write_that_may_not_start_any_more_sends_nothing(database: Database, store: Destination) -> None:
    """Whether the lease lasts is asked after connecting."""
    result = store.write(batch(total=1), FENCE, may_start=lambda: False)
    assert result == WriteResult(Outcome.NOT_STARTED, (), 0)
    assert database.rows(TOKENS) == []


class _Late:
    """A write in a thread of its own."""

    def __init__(self, store: Destination, entries: dict[str, Any]) -> None:
        self._results: list[WriteResult] = []
        self._thread = threading.Thread(target=lambda: self._results.append(store.write(batch("f1", entries), FENCE)))
        self._thread.start()

    def result(self) -> WriteResult:
        self._thread.join(20)
        return self._results[0]


def _wait_until_blocked(database: Database) -> None:
    blocked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dex sync' AND wait_event_type = 'Lock'"
    while database.rows(blocked) == [(0,)]:
        pass
