"""What goes wrong on a real server, and what it makes wait: the store, the run, or nothing but these entries."""

import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from dex.engine.sync.batch import FailureScope, Outcome, WriteResult
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.destination import Destination
from dex.engine.sync.failures import judge
from tests.engine.sync.conftest import FENCE, OpenStore, batch, store_config
from tests.postgres import FENCING_TABLE, Database, Server, running_server

ORDERS = "CREATE TABLE orders (id text PRIMARY KEY, total bigint, email text UNIQUE)"


def trigger(action: str) -> str:
    """Give the SQL that does something before each insert."""
    return (
        f"CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {action}; RETURN NEW; END $$;"
        "CREATE TRIGGER no BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION no()"
    )


def failure(result: WriteResult) -> tuple[FailureScope, bool, str | None]:
    """Give what a failure means; its reason never shows a value."""
    assert result.outcome is Outcome.FAILED
    assert result.failure is not None
    assert "secret" not in result.failure.reason
    return result.failure.scope, result.failure.retryable, result.failure.sqlstate


RUN_FAILURES = [
    ("CREATE UNIQUE INDEX u ON orders (total)", {"total": 1}, "23505"),
    ("ALTER TABLE orders ADD CHECK (email <> 'secret')", {"email": "secret"}, "23514"),
    ("ALTER TABLE orders ALTER email TYPE varchar(3)", {"email": "secret"}, "22001"),
    ("ALTER TABLE orders ALTER total TYPE int", {"total": 2**40}, "22003"),
    ("ALTER TABLE orders ADD other bigint NOT NULL DEFAULT 1; ALTER TABLE orders ALTER other DROP DEFAULT",
     {"total": 1}, "23502"),
    ("CREATE TABLE parents (id text PRIMARY KEY); ALTER TABLE orders ADD FOREIGN KEY (email) REFERENCES parents",
     {"email": "secret"}, "23503"),
    (trigger("RAISE EXCEPTION '%', NEW.email"), {"email": "secret"}, "P0001"),
    (trigger("PERFORM 1/0"), {"total": 1}, "22012"),
    (trigger("RAISE SQLSTATE '40001'"), {"total": 1}, "40001"),
]  # fmt: skip


@pytest.mark.spec("Y-18", "Y-27")
@pytest.mark.parametrize(("change", "entries", "sqlstate"), RUN_FAILURES, ids=[case[2] for case in RUN_FAILURES])
def test_values_and_constraints_fail_the_run_alone(
    change: str, entries: dict[str, Any], sqlstate: str, database: Database, open_store: OpenStore
) -> None:
    """A change in the database could cure each of them, so the entries are kept."""
    database.execute(ORDERS)
    store = open_store()
    store.write(batch("f0", total=1, email=None), FENCE)
    database.execute(change)
    result = store.write(batch("f1", entries), FENCE)
    assert failure(result) == (FailureScope.RUN, True, sqlstate)
    assert result.keys == tuple(entries)
    assert database.rows("SELECT id, total FROM orders") == [("f0", 1)]


@pytest.mark.spec("Y-18")
@pytest.mark.parametrize(
    ("change", "sqlstate", "reason"),
    [
        ("REVOKE INSERT ON orders FROM restricted", "42501", "permission denied for table orders"),
        ("REVOKE UPDATE ON dexzd_attribute_sync_fencing FROM restricted", "42501", "denied for table dexzd_attribute"),
        ("ALTER ROLE restricted SET default_transaction_read_only = on", "25006", "ReadOnlySqlTransaction"),
    ],
)
def test_missing_grants_and_read_only_servers_fail_the_store(
    change: str, sqlstate: str, reason: str, database: Database, open_store: OpenStore
) -> None:
    """Start-up does not check grants: the writes fail, naming the table, and pass once the grants are there."""
    grant = "GRANT SELECT, INSERT, UPDATE ON orders, dexzd_attribute_sync_fencing TO restricted"
    database.execute(
        f"{ORDERS}; DO $$ BEGIN CREATE ROLE restricted LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
        f"ALTER ROLE restricted RESET ALL; {grant}; {change}"
    )
    store = open_store(dsn=database.server.dsn(database.name, "restricted"))
    result = store.write(batch(total=1), FENCE)
    assert failure(result) == (FailureScope.STORE, True, sqlstate)
    assert reason in str(result.failure)
    database.execute(f"ALTER ROLE restricted RESET ALL; {grant}")
    if sqlstate == "42501":
        assert store.write(batch(total=1), FENCE).outcome is Outcome.WRITTEN


@pytest.mark.spec("Y-18", "Y-27")
@pytest.mark.parametrize("table", ["orders", "dexzd_attribute_sync_fencing"])
def test_a_table_that_is_gone_is_waited_for(table: str, database: Database, open_store: OpenStore) -> None:
    """The tables are read again, and the write passes once it is back."""
    database.execute(ORDERS)
    store = open_store()
    database.execute(f"ALTER TABLE {table} RENAME TO gone")
    result = store.write(batch(total=1), FENCE)
    assert failure(result)[1] is True
    assert result.failure is not None
    assert table in result.failure.reason
    database.execute(f"ALTER TABLE gone RENAME TO {table}")
    assert store.write(batch(total=1), FENCE).outcome is Outcome.WRITTEN


@pytest.mark.spec("Y-27")
@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE orders DROP COLUMN email",
        "ALTER TABLE orders RENAME email TO mail",
        "ALTER TABLE orders DROP COLUMN email; ALTER TABLE orders ADD email date",
        "ALTER TABLE orders DROP COLUMN email; ALTER TABLE orders ADD email text GENERATED ALWAYS AS ('x') STORED",
        "ALTER TABLE orders ADD more text, ALTER total TYPE numeric",
    ],
)
def test_a_changed_table_is_read_again_and_the_write_tried_once_more(
    change: str, database: Database, open_store: OpenStore
) -> None:
    """What no longer fits is filtered, the rest is written, with the plans that PostgreSQL had cached."""
    database.execute(ORDERS)
    store = open_store()
    for at in range(8):
        store.write(batch(f"f{at}", total=1, email=f"{at}"), FENCE)
    database.execute(change)
    result = store.write(batch(total=2, email="x"), FENCE)
    assert result.outcome is Outcome.WRITTEN
    assert database.rows("SELECT total FROM orders WHERE id = 'f1'") == [(2,)]


@pytest.mark.spec("Y-18")
@pytest.mark.parametrize("entries", [{"total": 2}, {"total": 2, "Items/a": None}])
def test_a_row_lock_times_the_run_out(entries: dict[str, Any], database: Database, open_store: OpenStore) -> None:
    """statement_timeout ends the wait; the connection goes on to be used."""
    database.execute(ORDERS + "; CREATE TABLE items (id text, item text, PRIMARY KEY (id, item))")
    store = open_store(seconds=0.6, maps={"Items": ("items", "item")})
    store.write(batch(total=1), FENCE)
    with psycopg.connect(database.dsn) as other:
        other.execute("UPDATE orders SET total = 9")
        start = time.monotonic()
        result = store.write(batch("f1", entries), FENCE)
        assert time.monotonic() - start < 10
        assert failure(result) == (FailureScope.TIMEOUT, True, "57014")
        assert result.statements == len(entries)
        assert result.failure is not None
        assert "another session locks the row" in result.failure.reason
        assert not result.failure.undecided
        assert store.write(batch("f2", total=1), FENCE).outcome is Outcome.WRITTEN
    assert store.write(batch("f1", entries), FENCE).outcome is Outcome.WRITTEN


@pytest.mark.spec("Y-17")
def test_the_statement_timeout_is_the_time_of_a_transaction(database: Database, open_store: OpenStore) -> None:
    """A session that is left in a transaction, as by a paused process, does not hold the fencing row for ever."""
    database.execute(
        f"{ORDERS}; ALTER TABLE orders ADD seen text;"
        "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.seen = concat_ws(' ',"
        " current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'),"
        " current_setting('transaction_isolation')); RETURN NEW; END $$;"
        "CREATE TRIGGER see BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION see();"
        f"ALTER DATABASE {database.name} SET default_transaction_isolation = 'serializable'"
    )
    open_store(seconds=2.5).write(batch(total=1), FENCE)
    assert database.rows("SELECT seen FROM orders") == [("2500ms 5s read committed",)]


@pytest.mark.spec("Y-18")
def test_a_deadlock_fails_the_run_alone(database: Database, open_store: OpenStore) -> None:
    """The session that looks for a deadlock first, a second after it began to wait, loses; the other goes on."""
    database.execute(ORDERS + "; CREATE TABLE items (id text, item text, n bigint, PRIMARY KEY (id, item))")
    database.execute(f"ALTER DATABASE {database.name} SET deadlock_timeout = '1s'")
    store = open_store(maps={"Items": ("items", "item")})
    entries = {"Items/a": {"n": 1}, "Items/b": {"n": 1}}
    store.write(batch("f1", entries), FENCE)
    with psycopg.connect(database.dsn) as other:
        other.execute("SET deadlock_timeout = '30s'")
        other.execute("UPDATE items SET n = 2 WHERE item = 'b'")
        results: list[WriteResult] = []
        thread = threading.Thread(target=lambda: results.append(store.write(batch("f1", entries), FENCE)))
        thread.start()
        blocked = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'dex sync' AND wait_event_type = 'Lock'"
        while not database.rows(blocked):
            pass
        other.execute("UPDATE items SET n = 2 WHERE item = 'a'")
        thread.join(20)
    assert failure(results[0]) == (FailureScope.RUN, True, "40P01")


@pytest.mark.spec("Y-18", "Y-26")
@pytest.mark.parametrize("entries", [{"total": 2}, {"total": 2, "Items/a": None}])
def test_connections_that_end_while_nothing_is_written_fail_no_write(
    entries: dict[str, Any], database: Database, open_store: OpenStore
) -> None:
    """As by a restart of the server or its limit for idle sessions."""
    database.execute(ORDERS + "; CREATE TABLE items (id text, item text, PRIMARY KEY (id, item))")
    store = open_store(maps={"Items": ("items", "item")})
    _side_by_side([lambda at=at: store.write(batch(f"f{at}", total=1), FENCE) for at in range(4)])
    database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dex sync'")
    while database.rows("SELECT 1 FROM pg_stat_activity WHERE application_name = 'dex sync'"):
        pass
    assert store.write(batch("f1", entries), FENCE).outcome is Outcome.WRITTEN


@pytest.mark.spec("Y-18", "Y-27")
@pytest.mark.parametrize("entries", [{"total": 2}, {"total": 2, "Items/a": None}])
def test_a_session_that_is_ended_at_work_fails_the_store(
    entries: dict[str, Any], database: Database, open_store: OpenStore
) -> None:
    """The server's own answer is judged, where the driver has it; else nobody knows what became of the write."""
    database.execute(ORDERS + "; CREATE TABLE items (id text, item text, PRIMARY KEY (id, item))")
    store = open_store(maps={"Items": ("items", "item")})
    store.write(batch("f1", total=1), FENCE)
    with psycopg.connect(database.dsn) as other:
        other.execute("SELECT 1 FROM orders FOR UPDATE")
        results: list[WriteResult] = []
        thread = threading.Thread(target=lambda: results.append(store.write(batch("f1", entries), FENCE)))
        thread.start()
        blocked = "application_name = 'dex sync' AND wait_event_type = 'Lock'"
        while not database.rows(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {blocked}"):
            pass
        thread.join(20)
    scope, retryable, sqlstate = failure(results[0])
    assert (scope, retryable) == (FailureScope.STORE, True)
    assert results[0].failure is not None
    assert results[0].failure.undecided is (sqlstate is None)
    assert sqlstate == "57P01" or "Items/a" in entries


@pytest.mark.spec("Y-18", "Y-26")
def test_a_server_that_stops_and_starts_or_pauses_loses_nothing() -> None:
    """While it is away the store fails; while it is paused writes time out; then they pass (case 44)."""
    with running_server() as server:
        server.execute(f"{ORDERS}; CREATE TABLE items (id text, item text, PRIMARY KEY (id, item)); {FENCING_TABLE}")
        store = _open(server)
        for mode in ("fast", "immediate"):
            server.stop(mode)
            for _ in range(2):
                assert failure(store.write(batch(total=1), FENCE))[:2] == (FailureScope.STORE, True)
            server.start()
            assert store.write(batch(total=1), FENCE).outcome is Outcome.WRITTEN
        server.pause()
        start = time.monotonic()
        for entries in ({"total": 2}, {"Items/a": None}):
            result = store.write(batch("f1", entries), FENCE)
            assert failure(result)[0] in (FailureScope.TIMEOUT, FailureScope.STORE)
        assert time.monotonic() - start < 20
        server.resume()
        assert store.write(batch(total=3), FENCE).outcome is Outcome.WRITTEN
        assert Database(server, "postgres").rows("SELECT total FROM orders") == [(3,)]
        store.close()


@pytest.mark.spec("Y-18")
def test_a_paused_server_times_the_run_out(postgres: Server, database: Database, open_store: OpenStore) -> None:
    """No answer comes, and the writer does not wait for one without end."""
    database.execute(ORDERS)
    store = open_store(seconds=0.6)
    store.write(batch(total=1), FENCE)
    postgres.pause()
    result = store.write(batch(total=2), FENCE)
    postgres.resume()
    assert failure(result) == (FailureScope.TIMEOUT, True, "57014")
    assert result.failure is not None
    assert result.failure.undecided  # what was sent is still in the server's hands
    assert result.failure.reason == "PostgreSQL did not answer in time"
    assert store.write(batch(total=3), FENCE).outcome is Outcome.WRITTEN
    assert database.rows("SELECT total FROM orders") == [(3,)]


@pytest.mark.spec("Y-27")
@pytest.mark.parametrize(
    ("change", "sqlstate"),
    [
        ("RAISE SQLSTATE '22021'", "22021"),
        ("RAISE SQLSTATE '22P05'", "22P05"),
        ("EXECUTE 'SELEC 1'", "42601"),
    ],
)
def test_what_no_change_in_the_database_cures_is_not_retried(
    change: str, sqlstate: str, database: Database, open_store: OpenStore
) -> None:
    """Characters that cannot be stored, and statements that say nothing."""
    database.execute(f"{ORDERS}; {trigger(change)}")
    result = open_store().write(batch(total=1), FENCE)
    assert failure(result) == (FailureScope.RUN, False, sqlstate)


@pytest.mark.spec("Y-27")
@pytest.mark.parametrize(
    ("error", "connected", "scope", "retryable"),
    [
        (psycopg.OperationalError("x"), False, FailureScope.STORE, True),
        (psycopg.OperationalError("the connection is lost"), True, FailureScope.RUN, True),
        (psycopg.InternalError("x"), True, FailureScope.RUN, True),
        (psycopg.DataError("x"), True, FailureScope.RUN, False),
        (psycopg.ProgrammingError("x"), True, FailureScope.RUN, False),
        (psycopg.errors.UniqueViolation("x"), False, FailureScope.STORE, True),
        (psycopg.errors.AdminShutdown("x"), False, FailureScope.STORE, True),
        (psycopg.errors.QueryCanceled("x"), False, FailureScope.TIMEOUT, True),
        (psycopg.errors.LockNotAvailable("x"), True, FailureScope.RUN, True),
        (psycopg.errors.DiskFull("x"), True, FailureScope.STORE, True),
        (psycopg.errors.TooManyConnections("x"), False, FailureScope.STORE, True),
        (psycopg.errors.InvalidPassword("x"), False, FailureScope.STORE, True),
    ],
    ids=repr,
)
def test_errors_are_judged_by_sqlstate_class_and_connection(
    error: psycopg.Error, connected: bool, scope: FailureScope, retryable: bool
) -> None:
    """The text of a message decides nothing; no SQLSTATE is not by itself a lost connection."""
    found = judge(error, connected=connected)
    assert (found.scope, found.retryable) == (scope, retryable)


@pytest.mark.spec("Y-18")
def test_reasons_name_the_constraint_and_no_value(database: Database, open_store: OpenStore) -> None:
    database.execute(ORDERS)
    store = open_store()
    store.write(batch("f0", email="secret"), FENCE)
    result = store.write(batch("f1", email="secret"), FENCE)
    assert result.failure is not None
    assert result.failure.reason == (
        "PostgreSQL answers UniqueViolation (23505), table orders, constraint orders_email_key"
    )


def _open(server: Server) -> Destination:
    config = SyncConfig(attempt_timeout=1, lease_duration=4)
    store = Destination(store_config(server.dsn("postgres"), maps={"Items": ("items", "item")}), config)
    store.open()
    return store


def _side_by_side(calls: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
