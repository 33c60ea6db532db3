"""Start-up: connecting to every store and checking its tables."""

from typing import Any

import psycopg
import pytest

from dex.engine.local import LocalEngine
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.service import Sync
from dex.wcl.errors import FailedPrecondition, Unavailable
from tests.engine.sync.conftest import FENCE, OpenStore, batch, store_config
from tests.postgres import FENCING_TABLE, Database

FENCE_KEY = "store_name text, cluster_id text, scope text, PRIMARY KEY (store_name, cluster_id, scope)"
MAIN = "CREATE TABLE orders (id text PRIMARY KEY, total bigint)"
ITEMS: dict[str, Any] = {"maps": {"Items": ("items", "item")}}
PAIR = "CREATE TABLE orders (a text, b text, PRIMARY KEY (a, b));"
BOTH = {"row_key": "{a}-{b}"}
GENERATED = """CREATE TABLE orders (id text PRIMARY KEY, n int NOT NULL DEFAULT 1, s serial,
    v text NOT NULL GENERATED ALWAYS AS (id) STORED, i int GENERATED ALWAYS AS IDENTITY)"""


def items(columns: str) -> str:
    return f"; CREATE TABLE items (id text, {columns})"


@pytest.mark.spec("Y-06", "Y-07", "Y-10")
@pytest.mark.parametrize(
    ("tables", "store"),
    [
        (MAIN, {}),
        ("CREATE TABLE orders (id varchar(40) PRIMARY KEY)", {}),
        ("CREATE TABLE orders (id char(40) PRIMARY KEY)", {}),
        (GENERATED, {}),
        ("CREATE TABLE orders (a text, b text, c int, PRIMARY KEY (b, a) INCLUDE (c))", BOTH),
        ("CREATE TABLE orders (id text PRIMARY KEY) PARTITION BY HASH (id)", {}),
        ("CREATE SCHEMA s; CREATE TABLE s.orders (id text PRIMARY KEY)", {"table": "s.orders"}),
        (MAIN + items("item text, PRIMARY KEY (item, id)"), ITEMS),
        (PAIR + "CREATE TABLE items (b text, item varchar, a text, PRIMARY KEY (a, b, item))", ITEMS | BOTH),
        ("CREATE DOMAIN one AS int DEFAULT 1 NOT NULL; CREATE TABLE orders (id text PRIMARY KEY, n one)", {}),
    ],
)  # fmt: skip
def test_tables_that_keep_the_contract_open(
    tables: str, store: dict[str, Any], database: Database, open_store: OpenStore
) -> None:
    """Keys of characters in any order, and defaults or generated values for what is required."""
    database.execute(tables)
    open_store(**store)


@pytest.mark.spec("Y-06", "Y-07", "Y-10")
@pytest.mark.parametrize(
    ("tables", "store", "message"),
    [
        ("SELECT 1", {}, "the table orders does not exist"),
        ('CREATE TABLE "Orders" (id text PRIMARY KEY)', {}, "the table orders does not exist"),
        (MAIN, {"table": "other.orders"}, "the table other.orders does not exist"),
        ("CREATE TABLE orders (id text, n int)", {}, "the table public.orders has no primary key (columns: id, n)"),
        ("CREATE TABLE orders (id text UNIQUE)", {}, "has no primary key (columns: id)"),
        ("CREATE VIEW orders AS SELECT 'a' AS id", {}, "the view public.orders has no primary key"),
        ("CREATE MATERIALIZED VIEW orders AS SELECT 'a' AS id", {}, "the materialized view public.orders has no"),
        (PAIR, {}, "has the primary key (a, b) (columns: a, b), and without rowKey it must have exactly one"),
        ("CREATE TABLE orders (id bigint PRIMARY KEY)", {}, "the key column id of public.orders is bigint, and a char"),
        ("CREATE TABLE orders (id uuid PRIMARY KEY)", {}, "the key column id of public.orders is uuid"),
        (MAIN, {"row_key": "order-{order_id}"}, "(id) (columns: id, total), and rowKey names (order_id)"),
        (PAIR, {"row_key": "{a}"}, "has the primary key (a, b) (columns: a, b), and rowKey names (a)"),
        ("CREATE TABLE orders (a text, b int, PRIMARY KEY (a, b))", BOTH, "key column b of public.orders is integer"),
        ("CREATE TABLE orders (id text PRIMARY KEY, n int NOT NULL, m text NOT NULL)", {}, "requires a value for n, m"),
        ("CREATE TABLE orders (id text PRIMARY KEY DEFERRABLE)", {}, "is deferrable"),
        (MAIN, ITEMS, "AttributeMap Items: the table items does not exist"),
        (MAIN + items("item text, PRIMARY KEY (id)"), ITEMS, "key columns and instanceKeyColumn are (id, item)"),
        (MAIN + items("item int, PRIMARY KEY (id, item)"), ITEMS, "key column item of public.items is integer"),
        (MAIN + items("item text, x int NOT NULL, PRIMARY KEY (id, item)"), ITEMS, "items requires a value for x"),
    ],
)  # fmt: skip
def test_tables_that_break_the_contract_are_refused(
    tables: str, store: dict[str, Any], message: str, database: Database, open_store: OpenStore
) -> None:
    """The message names the store, the table and its columns (case 38)."""
    database.execute(tables)
    with pytest.raises(FailedPrecondition) as caught:
        open_store(**store)
    assert message in str(caught.value)
    assert str(caught.value).startswith("store orders: ")


@pytest.mark.spec("Y-06", "Y-10")
def test_every_fault_of_a_store_is_told_at_once(database: Database, open_store: OpenStore) -> None:
    database.execute("DROP TABLE dexzd_attribute_sync_fencing")
    with pytest.raises(FailedPrecondition) as caught:
        open_store(**ITEMS)
    for part in ("the table orders", "the table items", "the fencing table"):
        assert part in str(caught.value)


@pytest.mark.spec("Y-16")
@pytest.mark.parametrize("name", ["fence", "public.Fence", "order", 'public."My ""Fence"""', "select"])
def test_a_missing_fencing_table_is_told_with_its_statement(
    name: str, database: Database, open_store: OpenStore
) -> None:
    """The statement has the configured name and works; nothing has been created by itself."""
    database.execute(MAIN)
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
    before = database.rows(tables)
    with pytest.raises(FailedPrecondition) as caught:
        open_store(fencing_table=name)
    assert database.rows(tables) == before
    message = str(caught.value)
    statement = message[message.index("CREATE TABLE") : message.index(");") + 2]
    database.execute(statement)
    assert open_store(fencing_table=name).write(batch(total=1), FENCE).outcome == "written"


@pytest.mark.spec("Y-16")
def test_the_statement_is_the_documented_one(database: Database, open_store: OpenStore) -> None:
    database.execute(MAIN + "; DROP TABLE dexzd_attribute_sync_fencing")
    with pytest.raises(FailedPrecondition) as caught:
        open_store()
    assert FENCING_TABLE.strip() in str(caught.value)


@pytest.mark.spec("Y-16")
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("store_name text PRIMARY KEY, cluster_id text", "has no column scope, fencing_token, updated_at"),
        (
            "store_name text PRIMARY KEY, cluster_id text, scope text, fencing_token bigint, updated_at timestamptz",
            "has the primary key (store_name)",
        ),
        (f"{FENCE_KEY}, fencing_token text, updated_at timestamptz", "because of its columns fencing_token"),
        (f"{FENCE_KEY}, fencing_token int, updated_at text", "because of its columns fencing_token, updated_at"),
        (f"{FENCE_KEY}, fencing_token bigint, updated_at timestamptz, n int NOT NULL", "because of its columns n"),
    ],
)
def test_a_fencing_table_of_another_shape_is_refused(
    columns: str, message: str, database: Database, open_store: OpenStore
) -> None:
    database.execute(f"{MAIN}; CREATE TABLE fence ({columns})")
    with pytest.raises(FailedPrecondition) as caught:
        open_store(fencing_table="fence")
    assert message in str(caught.value)
    assert 'CREATE TABLE "fence" (' in str(caught.value)


@pytest.mark.spec("Y-03", "Y-06")
@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://dex:s3cr%40t!@127.0.0.1:1/orders_db",
        "host=127.0.0.1 port=1 user=dex dbname=orders_db password='s3cr@t!'",
        "postgresql://127.0.0.1:1/orders_db?user=dex&password=s3cr%40t!",
    ],
)
def test_an_unreachable_store_is_named_without_its_password(dsn: str, open_store: OpenStore) -> None:
    """Host and database are shown (case 25)."""
    with pytest.raises(Unavailable) as caught:
        open_store(dsn=dsn)
    text = str(caught.value)
    assert "store orders: cannot use 127.0.0.1:1/orders_db: " in text
    assert "refused" in text
    assert not any(secret in text for secret in ("s3cr", "%40t"))


@pytest.mark.spec("Y-03", "Y-06")
def test_a_refused_password_is_not_shown(database: Database, open_store: OpenStore) -> None:
    """Nor does what PostgreSQL answers to a missing database show it."""
    dsn = database.dsn.replace("dex@", "dex:hunter2@").replace(database.name, "nosuch")
    with pytest.raises(Unavailable, match="nosuch") as caught:
        open_store(dsn=dsn)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.spec("Y-06")
def test_one_store_that_fails_closes_those_that_are_open(database: Database, local: LocalEngine) -> None:
    """No connection is left on the server."""
    database.execute(MAIN)
    stores = {
        "good": store_config(database.dsn, name="good"),
        "bad": store_config(database.dsn, name="bad", table="nosuch"),
    }
    with pytest.raises(FailedPrecondition, match="store bad"):
        Sync(local.flows.parts, SyncConfig(stores=stores)).open()
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dex sync'"
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        while connection.execute(sessions).fetchone() != (0,):
            pass  # a backend ends a moment after its client has closed


@pytest.mark.spec("Y-06")
def test_a_database_that_takes_no_nulls_in_arrays_has_its_tables_found(
    database: Database, open_store: OpenStore
) -> None:
    """A setting of old; a table without a schema is looked for along the search path all the same."""
    database.execute(f"{MAIN}; ALTER DATABASE {database.name} SET array_nulls = off")
    open_store()
