"""Sync as a whole on a real PostgreSQL: late writers, crashes, restarts and a server that does not answer."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from dex import TimeTravelOptions, TimeTravelTo
from dex.engine.client import Client
from dex.engine.clock import SystemClock
from dex.engine.sync.config import SyncConfig, SyncRetryPolicy
from dex.engine.sync.service import Sync
from dex.wcl.commands.sync import SyncBacklog, SyncDrops
from dex.wcl.errors import Unavailable
from tests.chaos.children import Child, pause
from tests.engine.conftest import OpenEngine
from tests.engine.sync.conftest import store_config
from tests.engine.sync.worker.flow import TOTAL, Order, synced_to
from tests.engine.sync.worker.running import until, working
from tests.postgres import FENCING_TABLE, Database, running_server

FLOW = Order()
TABLES = """
CREATE TABLE orders (id text PRIMARY KEY, "Total" bigint, "Note" text, "Secret" text);
CREATE TABLE items (id text, item text, value bigint, PRIMARY KEY (id, item));
"""
LEASE = 1.2
TRANSACTION = LEASE / 4
QUICK = SyncRetryPolicy(initial_interval=0.02, maximum_interval=0.1)

OpenSync = Callable[..., Sync]


@pytest.fixture
def clock() -> SystemClock:
    return SystemClock()


@pytest.fixture
def client(open_engine: OpenEngine) -> Client:
    client = Client(open_engine())
    client.register(FLOW)
    return client


@pytest.fixture
def sync_to(client: Client, database: Database) -> Iterator[OpenSync]:
    """Open sync of the client's directory to the test's database."""
    database.execute(TABLES)
    opened: list[Sync] = []

    def open_(client: Client = client, dsn: str = "") -> Sync:
        store = store_config(dsn or database.dsn, maps={"Items": ("items", "item")})
        config = SyncConfig(stores={"orders": store}, lease_duration=LEASE, retry=QUICK)
        opened.append(Sync(client.engine.flows.parts, config))
        opened[-1].open()
        return opened[-1]

    yield open_
    for sync in opened:
        sync.close()


def total(database: Database, flow_id: str = "a") -> int | None:
    rows = database.rows(f"SELECT \"Total\" FROM orders WHERE id = '{flow_id}'")
    return rows[0][0] if rows else None


def backends(database: Database) -> list[int]:
    query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'dex sync' AND datname = current_database()"
    return [pid for (pid,) in database.rows(query)]


def pending(client: Client) -> int:
    return client.execute(SyncBacklog(limit=1)).total


@pytest.mark.spec("Y-26", "Y-16")
def test_a_transaction_that_is_carried_out_late_does_not_overwrite_a_newer_one(
    client: Client, database: Database, sync_to: OpenSync
) -> None:
    """A session of the server stands still with a write in its socket, which this process has given up on."""
    sync = sync_to()
    client.start_flow(FLOW, "a", options=synced_to("orders").with_attribute(TOTAL, 0))
    with working(sync.run):
        until(lambda: total(database) == 0)
        stopped = backends(database)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            client.set_attributes("a", {"Total": 1})
            until(lambda: client.execute(SyncBacklog()).entries[0].attempts == 1)
            client.set_attributes("a", {"Total": 2})
            until(lambda: total(database) == 2)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        until(lambda: not set(stopped) & set(backends(database)))
    assert total(database) == 2
    assert sync.metrics.fenced_writes._value.get() == 0


_LATE = """
import logging, sys, threading
from pathlib import Path
from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.destination import Destination
from dex.engine.sync.service import Sync
from tests.engine.sync.conftest import store_config
logging.disable(logging.CRITICAL)
directory, dsn, lease, mode = sys.argv[1:]
send = Destination._transaction
go = threading.Event()

def late(self, *arguments):
    print("about to write", flush=True)
    go.wait()
    return send(self, *arguments)

write = Destination.write

def dies(self, *arguments):
    result = write(self, *arguments)
    print(result.outcome, flush=True)
    go.wait()
    return result

if mode == "late":
    Destination._transaction = late
else:
    Destination.write = dies
client = Client(LocalEngine(directory, attribute_stores=["orders"]))
store = store_config(dsn, maps={"Items": ("items", "item")})
sync = Sync(client.engine.flows.parts, SyncConfig(stores={"orders": store}, lease_duration=float(lease)))
sync.open()
stop = threading.Event()
thread = threading.Thread(target=sync.run, args=(stop,))
thread.start()
for line in sys.stdin:
    go.set()
    print(sync.metrics.fenced_writes._value.get(), sync._worker.is_owner, flush=True)
stop.set()
thread.join()
sync.close()
client.close()
"""


@pytest.mark.spec("Y-16", "Y-17")
def test_a_process_that_stood_still_beyond_its_lease_changes_no_row(
    client: Client, database: Database, sync_to: OpenSync, data_dir: Path
) -> None:
    """Case 43, with two real processes: its late write is rejected and counted, and it writes no more."""
    second = sync_to()
    client.start_flow(FLOW, "a", options=synced_to("orders").with_attribute(TOTAL, 1))
    client.set_attributes("a", {"Items/x": 1, "Items/y": 1})
    with Child(_LATE, data_dir, database.dsn, LEASE, "late") as first:
        assert first.hear() == "about to write"
        pause(first.process.pid, data_dir / "dex.db")
        client.set_attributes("a", {"Total": 2, "Items/x": 2, "Items/y": None})
        with working(second.run):
            until(lambda: total(database) == 2)
            until(lambda: pending(client) == 0)
            first.signal(signal.SIGCONT)
            until(lambda: first.say("go") or first.hear() == "1.0 False")
            client.set_attributes("a", {"Note": "later"})
            until(lambda: pending(client) == 0)
        assert database.rows("SELECT * FROM orders, items") == [("a", 2, "later", None, "a", "x", 2)]
        assert database.rows("SELECT fencing_token FROM dexzd_attribute_sync_fencing") == [(2,)]


@pytest.mark.spec("Y-26", "Y-05")
def test_a_crash_between_the_two_commits_writes_the_same_again(
    client: Client, database: Database, sync_to: OpenSync, data_dir: Path
) -> None:
    """What is pending survives kill -9, and the next process begins with the backlog that it finds."""
    second = sync_to()
    client.start_flow(FLOW, "a", options=synced_to("orders").with_attribute(TOTAL, 1))
    client.set_attributes("a", {"Items/x": 1, "Note": "n"})
    with Child(_LATE, data_dir, database.dsn, LEASE, "dies") as first:
        assert first.hear() == "written"
        first.signal(signal.SIGKILL)
    rows = database.rows("SELECT * FROM orders, items")
    assert rows == [("a", 1, "n", None, "a", "x", 1)]
    assert pending(client) == 3
    second.flush(20)
    assert database.rows("SELECT * FROM orders, items") == rows
    assert database.rows("SELECT fencing_token FROM dexzd_attribute_sync_fencing") == [(2,)]
    assert client.execute(SyncDrops()) == []


@pytest.mark.spec("Y-05")
def test_commits_do_not_wait_for_a_server_that_does_not_answer(client: Client, sync_to: OpenSync) -> None:
    """Rows appear within a second of the commit, and once the server answers again."""
    with running_server() as server:
        server.execute(TABLES)
        server.execute(FENCING_TABLE)
        database = Database(server, "postgres")
        sync = sync_to(dsn=database.dsn)
        client.start_flow(FLOW, "a", options=synced_to("orders"))
        with working(sync.run):
            client.set_attributes("a", {"Total": 0})
            began = time.monotonic()
            until(lambda: total(database) == 0)
            assert time.monotonic() - began < 1
            server.pause()
            for number in range(1, 50):
                began = time.monotonic()
                client.set_attributes("a", {"Total": number})
                assert time.monotonic() - began < TRANSACTION / 2
            until(lambda: client.execute(SyncBacklog()).entries[0].last_error)
            server.resume()
            until(lambda: total(database) == 49)
            until(lambda: pending(client) == 0)


@pytest.mark.spec("Y-18", "Y-26")
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_of_the_server_under_load_loses_and_drops_nothing(
    client: Client, sync_to: OpenSync, mode: str
) -> None:
    """Case 44: 20 Flows write on; the backlog rises, shows why and drains, without a restart of ours."""
    with running_server() as server:
        server.execute(TABLES)
        server.execute(FENCING_TABLE)
        database = Database(server, "postgres")
        sync = sync_to(dsn=database.dsn)
        flow_ids = [f"f{number}" for number in range(20)]
        for flow_id in flow_ids:
            client.start_flow(FLOW, flow_id, options=synced_to("orders").with_attribute(TOTAL, 0))
        with working(sync.run):
            until(lambda: pending(client) == 0)
            server.stop(mode)
            for flow_id in flow_ids:
                client.set_attributes(flow_id, {"Total": 1, "Items/x": 1})
            until(lambda: client.execute(SyncBacklog()).entries[0].last_error)
            entry = client.execute(SyncBacklog()).entries[0]
            assert entry.attempts > 0
            assert entry.next_attempt is not None
            assert pending(client) == 40
            server.start()
            until(lambda: pending(client) == 0)
        assert database.rows('SELECT count(*), sum("Total") FROM orders') == [(20, 20)]
        assert database.rows("SELECT count(*), sum(value) FROM items") == [(20, 20)]
        assert client.execute(SyncDrops()) == []
        assert sync.metrics.dropped_entries._value.get() == 0


@pytest.mark.spec("Y-18", "Y-17")
def test_a_row_that_is_locked_holds_up_its_own_run_alone(client: Client, database: Database, sync_to: OpenSync) -> None:
    """The transaction ends by statement_timeout; the plain Attributes are written once the lock is gone."""
    sync = sync_to()
    for flow_id in "ab":
        client.start_flow(FLOW, flow_id, options=synced_to("orders").with_attribute(TOTAL, 0))
    sync.flush(20)
    with psycopg.connect(database.dsn) as other, working(sync.run):
        other.execute("SELECT * FROM orders WHERE id = 'a' FOR UPDATE")
        client.set_attributes("a", {"Total": 1, "Note": "n", "Items/x": 1, "Items/y": 1})
        until(lambda: client.execute(SyncBacklog()).entries[0].last_error)
        client.set_attributes("b", {"Total": 1})
        until(lambda: total(database, "b") == 1)
        assert total(database) == 0
        other.rollback()
        until(lambda: pending(client) == 0)
    assert database.rows('SELECT "Total", "Note" FROM orders WHERE id = \'a\'') == [(1, "n")]


@pytest.mark.spec("Y-25")
def test_a_flush_says_what_is_still_pending_when_its_time_is_over(
    client: Client, database: Database, sync_to: OpenSync
) -> None:
    sync = sync_to()
    database.execute('ALTER TABLE orders ADD CHECK ("Total" < 5)')
    client.start_flow(FLOW, "a", options=synced_to("orders").with_attribute(TOTAL, 5))
    with pytest.raises(Unavailable, match=r"1 entries are still pending after 0.3 s"):
        sync.flush(0.3)
    database.execute('ALTER TABLE orders DROP CONSTRAINT "orders_Total_check"')
    sync.flush(20)
    assert total(database) == 5


@pytest.mark.spec("FL-16", "Y-21")
def test_rows_follow_stops_erasures_new_runs_and_time_travel(
    client: Client, database: Database, sync_to: OpenSync
) -> None:
    """Nothing is purged before its writes are made."""
    sync = sync_to()
    client.start_flow(FLOW, "a", options=synced_to("orders").with_attribute(TOTAL, 1))
    client.set_attributes("a", {"Secret": "s", "Items/x": 1})
    client.set_attributes("a", {"Total": 3, "Items/x": None, "Items/z": 9})
    sync.flush(20)
    client.time_travel("a", TimeTravelOptions(TimeTravelTo.EVENT, 2))
    sync.flush(20)
    assert database.rows("SELECT * FROM orders, items") == [("a", 1, None, "s", "a", "x", 1)]
    client.stop_flow("a")
    client.set_attributes("a", {"Secret": None})
    sync.flush(20)
    assert database.rows("SELECT * FROM orders") == [("a", 1, None, None)]


@pytest.mark.spec("Y-06")
def test_a_worker_that_has_stopped_leaves_no_thread(sync_to: OpenSync) -> None:
    with working(sync_to().run):
        until(_threads)
    assert _threads() == []


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("dex-sync")]
