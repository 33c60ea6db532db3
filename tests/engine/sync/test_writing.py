"""The store's own row: what a batch writes and what it leaves alone."""

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dex.engine.sync.batch import Batch, Outcome, WriteResult
from dex.engine.sync.config import ColumnNaming
from tests.engine.sync.conftest import FENCE, OpenStore, batch
from tests.postgres import Database

ORDERS = "CREATE TABLE orders (id text PRIMARY KEY, total bigint, note text DEFAULT 'none')"


@pytest.mark.spec("Y-14")
def test_an_upsert_writes_only_the_columns_of_its_batch(database: Database, open_store: OpenStore) -> None:
    """The first write creates the row, the others keep what they do not name."""
    database.execute(ORDERS)
    store = open_store()
    assert store.write(batch(total=1), FENCE) == WriteResult(Outcome.WRITTEN, ("total",), 1)
    store.write(batch(note="x"), FENCE)
    store.write(batch(total=2), FENCE)
    assert database.rows("SELECT * FROM orders") == [("f1", 2, "x")]


@pytest.mark.spec("Y-14", "Y-15")
def test_a_deleted_attribute_is_null_where_the_column_allows_it(database: Database, open_store: OpenStore) -> None:
    """A required column keeps its value."""
    database.execute("CREATE TABLE orders (id text PRIMARY KEY, a text, b text NOT NULL DEFAULT 'b')")
    store = open_store()
    store.write(batch(a="1", b="2"), FENCE)
    assert store.write(batch(a=None, b=None), FENCE).outcome is Outcome.WRITTEN
    assert database.rows("SELECT * FROM orders") == [("f1", None, "2")]


@pytest.mark.spec("Y-08", "Y-14")
def test_a_row_key_splits_the_flow_id_into_every_key_column(database: Database, open_store: OpenStore) -> None:
    """A conflict is one of the whole key."""
    database.execute("CREATE TABLE orders (c varchar(10), o text, total bigint, PRIMARY KEY (o, c))")
    store = open_store(row_key="order-{c}-{o}")
    for flow_id, total in (("order-c1-o-7", 1), ("order-c1-o-8", 2), ("order-c1-o-7", 3)):
        store.write(batch(flow_id, total=total), FENCE)
    assert database.rows("SELECT * FROM orders ORDER BY o") == [("c1", "o-7", 3), ("c1", "o-8", 2)]


@pytest.mark.spec("Y-08")
@pytest.mark.parametrize(
    ("flow_id", "problem"),
    [
        ("other-1", "does not match the rowKey"),
        ("order-1234", "the key column k cannot hold the key: 4 > 3 characters"),
        ("order-a ", "would lose the spaces"),
        ("order-a\0", "NUL"),
    ],
)
def test_a_flow_id_without_row_skips_its_batch(
    flow_id: str, problem: str, database: Database, open_store: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    """No retry could change the result, so the batch is done, with an error in the log."""
    database.execute("CREATE TABLE orders (k char(3) PRIMARY KEY, total bigint)")
    store = open_store(row_key="order-{k}")
    assert store.write(batch(flow_id, total=1), FENCE) == WriteResult(Outcome.WRITTEN, ("total",), 0)
    assert database.rows("SELECT * FROM orders") == []
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert problem in record.getMessage()


@pytest.mark.spec("Y-09")
def test_two_attributes_on_one_column_are_both_filtered(
    database: Database, open_store: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are written, under their snake_case names."""
    database.execute("CREATE TABLE orders (id text PRIMARY KEY, deployment_url text, s3_bucket text)")
    store = open_store(column_naming=ColumnNaming.SNAKE_CASE)
    store.write(batch(DeploymentURL="a", deploymentUrl="b", S3Bucket="c"), FENCE)
    assert database.rows("SELECT * FROM orders") == [("f1", None, "c")]
    assert [record.getMessage().count("2 Attributes share the column") for record in caplog.records] == [1, 1]


@pytest.mark.spec("Y-14", "Y-15")
def test_writes_to_key_columns_are_filtered(database: Database, open_store: OpenStore) -> None:
    """The key comes from the Flow ID alone."""
    database.execute("CREATE TABLE orders (k text PRIMARY KEY, total bigint)")
    store = open_store(row_key="order-{k}")
    assert store.write(batch("order-1", k="2", total=1), FENCE).statements == 1
    assert database.rows("SELECT * FROM orders") == [("1", 1)]


@pytest.mark.spec("Y-14")
def test_stores_may_share_a_table(database: Database, open_store: OpenStore) -> None:
    """Two Flow types write different columns of one row."""
    database.execute("CREATE TABLE customers (customer_id text PRIMARY KEY, name text, stage text)")
    first = open_store(table="customers", row_key="customer-{customer_id}")
    second = open_store(name="onboarding", table="customers", row_key="onboarding-{customer_id}-{*}")
    first.write(batch("customer-7", name="Ann"), FENCE)
    second.write(batch("onboarding-7-2024", stage="done"), FENCE)
    first.write(batch("customer-7", name="Anne"), FENCE)
    assert database.rows("SELECT * FROM customers") == [("7", "Anne", "done")]


@pytest.mark.spec("Y-14")
def test_a_conflict_with_another_unique_column_leaves_the_other_row_alone(
    database: Database, open_store: OpenStore
) -> None:
    """The conflict target is the row key only (case 39)."""
    database.execute("CREATE TABLE orders (id text PRIMARY KEY, email text UNIQUE)")
    store = open_store()
    store.write(batch("f1", email="a@b"), FENCE)
    result = store.write(batch("f2", email="a@b"), FENCE)
    assert result.outcome is Outcome.FAILED
    assert database.rows("SELECT * FROM orders") == [("f1", "a@b")]


NAMES = ['a"b', "select", "Mixed Case", "a.b", "50%", "%s", "$1", "ünï", "a'b", "a\\b", ";--", "{x}", "(y)", "null"]


@pytest.mark.spec("Y-14")
def test_any_name_of_schema_table_and_column_is_written(database: Database, open_store: OpenStore) -> None:
    """Identifiers are quoted: quotes, spaces, upper case, reserved words, percent signs."""
    columns = ", ".join('"' + name.replace('"', '""') + '" text' for name in NAMES)
    database.execute(
        f'CREATE SCHEMA "My ""Schema"""; CREATE TABLE "My ""Schema"""."Order.s" ("KEY" text PRIMARY KEY, {columns})'
    )
    store = open_store(table='"My ""Schema"""."Order.s"')
    result = store.write(batch("f'1", {name: f"of {name}" for name in NAMES}), FENCE)
    assert result.outcome is Outcome.WRITTEN
    assert database.rows('SELECT * FROM "My ""Schema"""."Order.s"') == [("f'1", *(f"of {name}" for name in NAMES))]


@pytest.mark.spec("Y-13")
def test_a_limit_leaves_the_rest_for_other_transactions(database: Database, open_store: OpenStore) -> None:
    """All plain Attributes are one statement, each instance is one."""
    database.execute(ORDERS)
    database.execute("CREATE TABLE items (id text, item text, n bigint, PRIMARY KEY (id, item))")
    store = open_store(maps={"Items": ("items", "item")})
    entries = {"total": 1, "note": "x", "Items/a": {"n": 1}, "Items/b": {"n": 2}, "nosuch": 1}
    first = store.write(batch("f1", entries), FENCE, limit=2)
    assert first == WriteResult(Outcome.WRITTEN, ("nosuch", "total", "note", "Items/a"), 2)
    rest = {key: value for key, value in entries.items() if key not in first.keys}
    assert store.write(batch("f1", rest), FENCE, limit=2) == WriteResult(Outcome.WRITTEN, ("Items/b",), 1)
    assert database.rows("SELECT item FROM items ORDER BY item") == [("a",), ("b",)]


@pytest.mark.spec("Y-13")
def test_one_batch_is_one_transaction(database: Database, open_store: OpenStore) -> None:
    """The store row and the instances are written together or not at all."""
    database.execute(ORDERS)
    database.execute("CREATE TABLE items (id text, item text, n bigint CHECK (n > 0), PRIMARY KEY (id, item))")
    store = open_store(maps={"Items": ("items", "item")})
    bad = {"total": 1, "Items/a": {"n": 1}, "Items/b": {"n": -1}}
    assert store.write(batch("f1", bad), FENCE).outcome is Outcome.FAILED
    assert database.rows("SELECT * FROM orders") == database.rows("SELECT id, 1, '' FROM items") == []
    good = {"total": 1, "Items/a": {"n": 1}, "Items/b": {"n": 2}}
    store.write(batch("f1", good), FENCE)
    transactions = "SELECT xmin::text FROM orders UNION SELECT xmin::text FROM items"
    assert len(database.rows(transactions)) == 1


@pytest.mark.spec("Y-14")
def test_partitioned_tables_and_identity_columns_are_written(database: Database, open_store: OpenStore) -> None:
    """The row lands in its partition; the server numbers it."""
    database.execute(
        "CREATE TABLE orders (id text PRIMARY KEY, n bigint GENERATED ALWAYS AS IDENTITY, total bigint,"
        " twice bigint GENERATED ALWAYS AS (total * 2) STORED) PARTITION BY HASH (id);"
        "CREATE TABLE p0 PARTITION OF orders FOR VALUES WITH (modulus 2, remainder 0);"
        "CREATE TABLE p1 PARTITION OF orders FOR VALUES WITH (modulus 2, remainder 1)"
    )
    store = open_store()
    for at in range(4):
        assert store.write(batch(f"f{at}", total=at, n=9, twice=9), FENCE).outcome is Outcome.WRITTEN
    assert database.rows("SELECT id, twice FROM orders ORDER BY id") == [(f"f{at}", 2 * at) for at in range(4)]


@pytest.mark.spec("Y-13", "Y-14")
def test_threads_write_side_by_side(database: Database, open_store: OpenStore) -> None:
    """Every thread has a connection of its own."""
    database.execute(ORDERS)
    store = open_store()
    failures: list[object] = []

    def write(thread: int) -> None:
        for at in range(50):
            result = store.write(batch(f"f{at}", total=thread), FENCE)
            if result.outcome is not Outcome.WRITTEN:
                failures.append(result)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert database.rows("SELECT count(*) FROM orders") == [(50,)]


@pytest.mark.spec("Y-14", "Y-15")
@settings(max_examples=60, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    flow_id=st.text(min_size=1),
    text=st.text(),
    number=st.integers(-(2**63), 2**63 - 1),
    real=st.floats(allow_nan=False, allow_infinity=False),
    raw=st.binary(),
)
def test_any_value_comes_back_or_is_filtered(
    open_any: "OpenAny", flow_id: str, text: str, number: int, real: float, raw: bytes
) -> None:
    """Whatever the text, it is data: it never becomes SQL and never changes."""
    stored = open_any(flow_id, {"t": text, "i": number, "f": real, "y": raw})
    assert stored == ([] if "\0" in flow_id else [(None if "\0" in text else text, number, real, raw)])


class OpenAny:
    """Writes values under a Flow ID and gives the rows that came of it."""

    def __init__(self, database: Database, open_store: OpenStore) -> None:
        database.execute("CREATE TABLE orders (id text PRIMARY KEY, t text, i bigint, f float8, y bytea)")
        self._database = database
        self._store = open_store()

    def __call__(self, flow_id: str, values: dict[str, object]) -> list[tuple[object, ...]]:
        self._database.execute("DELETE FROM orders")
        assert self._store.write(batch(flow_id, values), FENCE).outcome is Outcome.WRITTEN
        return self._database.rows("SELECT t, i, f, y FROM orders")


@pytest.fixture
def open_any(database: Database, open_store: OpenStore) -> OpenAny:
    return OpenAny(database, open_store)


@pytest.mark.spec("Y-13")
def test_an_empty_batch_is_written(database: Database, open_store: OpenStore) -> None:
    """There is nothing to do, and no SQL runs."""
    database.execute(ORDERS)
    assert open_store().write(Batch("orders", "f1", "r1", {}), FENCE) == WriteResult(Outcome.WRITTEN, (), 0)
