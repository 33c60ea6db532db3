"""What operators do beside the worker: flush, look at the backlog, at stores, drops and metrics."""

import re

import psycopg
import pytest

from dex.cli.syncwatch import sparkline
from tests.cli.flow.conftest import InsideDex
from tests.cli.sync.conftest import SECRET, write_config
from tests.postgres import Database

ITEM = '{"itemKey": "shoes/42", "sku": "S42", "quantity": 2, "priceCents": 5900}'


@pytest.fixture
def ordered(shop: InsideDex) -> InsideDex:
    """One Flow of which a plain attribute, an instance and the new total are pending."""
    shop.ok("flow", "start", "SyncedOrderFlow", "order-17", "--store", "orders", "--attr", "CustomerName=Ann")
    shop.ok("flow", "invoke", "order-17", "add_item", "--input", ITEM)
    return shop


@pytest.mark.spec("Y-08", "Y-09", "Y-10", "Y-25")
def test_flush_writes_all_that_is_pending(ordered: InsideDex, database: Database) -> None:
    """It tells how many rows there were; a second one has nothing to do."""
    done = ordered.ok("sync", "flush")
    assert (done.json["rows"], done.json["pending"], done.json["dropped"], done.err) == (2, 0, 0, "")
    assert database.rows("SELECT order_id, customer_name, total_cents, paid FROM orders") == [
        ("17", "Ann", 11800, False)
    ]
    assert database.rows("SELECT * FROM order_items") == [("17", "shoes/42", "S42", 2, 5900)]
    assert ordered.ok("sync", "flush").json["rows"] == 0


@pytest.mark.spec("Y-15", "Y-25")
def test_flush_counts_the_rows_that_the_tables_have(shop: InsideDex, database: Database) -> None:
    """Not what fits no column, what belongs to no row key, or what no table is declared for."""
    for flow_id, name in (("order-1", "x" * 201), ("other-1", "Ann")):
        shop.ok("flow", "start", "SyncedOrderFlow", flow_id, "--store", "orders", "--attr", f"CustomerName={name}")
    plain = {"type": "postgres", "dsn": database.dsn, "tableName": "orders", "rowKey": "order-{order_id}"}
    path = str(write_config(shop.home, orders={**plain, "columnNaming": "snake_case"}))
    done = shop.ok("sync", "flush", "--sync-config", path)
    assert (done.json["rows"], done.err.count("sync leaves a")) == (0, 2)
    shop.ok("flow", "invoke", "order-1", "add_item", "--input", ITEM)
    assert shop.ok("sync", "flush", "--sync-config", path).json["rows"] == 1
    assert database.rows("SELECT order_id, customer_name, total_cents FROM orders") == [("1", None, 11800)]
    assert database.rows("SELECT * FROM order_items") == []


@pytest.mark.spec("Y-25")
def test_flush_gives_up_at_its_timeout(ordered: InsideDex, database: Database) -> None:
    """A row lock holds the write back; the exit code tells that it may be tried again, and nothing is lost."""
    database.execute("INSERT INTO orders (order_id) VALUES ('17')")
    with psycopg.connect(database.dsn) as other:
        other.execute("SELECT 1 FROM orders FOR UPDATE")
        done = ordered("sync", "flush", "--timeout", "100ms")
    assert done.code == 4
    assert "3 entries are still pending after 0.1 s; see `dex sync backlog`" in done.err
    ordered.ok("sync", "flush")


@pytest.mark.spec("Y-25")
def test_the_backlog_tells_what_is_pending(ordered: InsideDex) -> None:
    """Of all or of one store or Flow, the oldest first and no more than asked for."""
    found = ordered.ok("sync", "backlog").json
    assert [entry["key"] for entry in found["entries"]] == ["CustomerName", "Items/shoes%2F42", "TotalCents"]
    assert (found["total"], found["oldest_age_seconds"] > 0) == (3, True)
    names = ["store", "flow_id", "run_id", "key", "age_seconds", "attempts", "next_attempt", "last_error"]
    assert list(found["entries"][0]) == names
    limited = ordered.ok("sync", "backlog", "--limit", "1").json
    assert (len(limited["entries"]), limited["total"]) == (1, 3)
    found = ordered.ok("sync", "backlog", "--flow", "order-18").json
    assert found == {"entries": [], "total": 0, "oldest_age_seconds": 0.0}
    assert "total 3" in ordered.ok("sync", "backlog", "-o", "table").text


@pytest.mark.spec("Y-25")
@pytest.mark.parametrize("command", ["backlog", "drops"])
def test_a_store_that_is_not_configured_is_refused(ordered: InsideDex, command: str) -> None:
    """A name that is misspelt would look as if nothing was pending; one that has been in use is known."""
    done = ordered("sync", command, "--store", "ordrs")
    assert (done.code, done.text) == (1, "")
    assert done.err == "error: there is no Attribute Store 'ordrs'; did you mean orders?\n"
    path = str(write_config(ordered.home, others={"type": "postgres"}))
    assert "configured: others" in ordered("sync", command, "--store", "gone", "--sync-config", path).err
    assert ordered.ok("sync", "backlog", "--store", "orders", "--sync-config", path).json["total"] == 3
    del ordered.environ["DEX_SYNC_CONFIG"]
    ordered.ok("sync", command, "--store", "ordrs")


@pytest.mark.spec("Y-25")
def test_fail_over_fails_for_an_old_entry_alone(ordered: InsideDex) -> None:
    """The backlog is written all the same; an age that is none is bad input."""
    assert ordered("sync", "backlog", "--fail-over", "1h").code == 0
    done = ordered("sync", "backlog", "--fail-over", "1ms")
    assert (done.code, done.json["total"]) == (1, 3)
    assert re.match("error: the oldest of 3 pending entries is [0-9]+ s old; ", done.err)
    assert ordered("sync", "backlog", "--fail-over", "soon").code == 2
    ordered.ok("sync", "flush")
    assert ordered("sync", "backlog", "--fail-over", "1ms").code == 0


@pytest.mark.spec("Y-03", "Y-25")
def test_stores_are_listed_without_a_connection_or_a_secret(ordered: InsideDex, database: Database) -> None:
    port = database.server.port
    (row,) = ordered.ok("sync", "stores").json
    assert row.pop("oldest_age_seconds") > 0
    assert row == {
        "store": "orders",
        "table": "public.orders",
        "database": f"127.0.0.1:{port}/{database.name}",
        "pending": 3,
        "last_error": None,
    }
    assert SECRET not in ordered.ok("sync", "stores", "-o", "table").text


@pytest.mark.spec("Y-22", "Y-24", "Y-25")
def test_what_a_removed_store_had_pending_is_dropped_and_told(ordered: InsideDex, database: Database) -> None:
    """Listing only says so; the next process that writes drops them, and drops and metrics remember."""
    other = {"type": "postgres", "dsn": database.dsn, "tableName": "orders", "rowKey": "order-{order_id}"}
    path = str(write_config(ordered.home, others=other))
    listed = ordered("sync", "stores", "--sync-config", path)
    assert "3 entries are pending for stores that are not configured" in listed.err
    assert ordered.ok("sync", "drops").json == []
    done = ordered("sync", "flush", "--sync-config", path)
    assert (done.code, done.json["rows"], done.json["dropped"], done.json["pending"]) == (0, 0, 3, 0)
    assert done.err.count(" is dropped: the store is not configured\n") == 3
    drops = ordered.ok("sync", "drops").json
    assert {drop["key"] for drop in drops} == {"CustomerName", "Items/shoes%2F42", "TotalCents"}
    assert {(drop["store"], drop["flow_id"], drop["reason"]) for drop in drops} == {
        ("orders", "order-17", "the store is not configured")
    }
    assert len(ordered.ok("sync", "drops", "--limit", "1").json) == 1
    assert ordered.ok("sync", "drops", "--store", "others", "--sync-config", path).json == []
    assert "\ndexzd_attribute_sync_dropped_entries_total 3.0\n" in ordered.ok("sync", "metrics").text
    assert database.rows("SELECT * FROM orders") == []


@pytest.mark.spec("Y-24")
def test_metrics_have_exactly_five_names_and_no_value_that_is_not_known(ordered: InsideDex) -> None:
    """A process that only looks has counted no failures and no fenced writes: it describes them without a value."""
    text = ordered.ok("sync", "metrics").text
    names = re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE)
    assert names == [
        "dexzd_attribute_sync_backlog_entries",
        "dexzd_attribute_sync_oldest_pending_age_seconds",
        "dexzd_attribute_sync_write_failures_total",
        "dexzd_attribute_sync_dropped_entries_total",
        "dexzd_attribute_sync_fenced_writes_total",
    ]
    values = dict(re.findall(r"^(dexzd\S+) (\S+)$", text, re.MULTILINE))
    assert float(values.pop("dexzd_attribute_sync_oldest_pending_age_seconds")) > 0
    assert values == {
        "dexzd_attribute_sync_backlog_entries": "3.0",
        "dexzd_attribute_sync_dropped_entries_total": "0.0",
    }


@pytest.mark.spec("Y-25")
def test_looking_needs_no_configuration_and_makes_no_directory(dex: InsideDex) -> None:
    dex.environ["DEX_DATA_DIR"] = str(dex.home / "none")
    assert dex.ok("sync", "backlog").json["total"] == 0
    assert dex.ok("sync", "drops").json == []
    assert "dexzd_attribute_sync_backlog_entries 0.0" in dex.ok("sync", "metrics").text
    assert not (dex.home / "none").exists()


@pytest.mark.spec("X-05", "Y-25")
def test_smoke_checks_the_stores_and_writes_nothing_to_them(shop: InsideDex, database: Database) -> None:
    """A bad store fails the check of its own and no other."""
    results = {result["check"]: result for result in shop.ok("smoke").json}
    assert results["sync"]["detail"] == "1 stores as they should be, 0 entries pending"
    assert database.rows("SELECT * FROM orders") == []
    database.execute("DROP TABLE order_items")
    failed = shop("smoke")
    assert (failed.code, [r["check"] for r in failed.json if r["status"] != "ok"]) == (1, ["sync"])
    del shop.environ["DEX_SYNC_CONFIG"]
    assert "sync" not in [result["check"] for result in shop.ok("smoke").json]


@pytest.mark.spec("X-06")
@pytest.mark.parametrize("words", [("sync", "backlog", "--store"), ("flow", "start", "T", "f", "--store")])
def test_the_names_of_attribute_stores_are_completed(shop: InsideDex, words: tuple[str, ...]) -> None:
    assert shop("__complete", "fish", "dex", *words, "or").text == "orders\n"


@pytest.mark.parametrize(
    ("values", "curve"),
    [([], ""), ([0, 0], "▁▁"), ([0, 0.01, 100], "▁▂█"), ([1, 2, 4], "▃▅█"), ([5], "█")],
)
def test_a_sparkline_begins_at_zero(values: list[float], curve: str) -> None:
    """What is above zero never looks like nothing."""
    assert sparkline(values) == curve
