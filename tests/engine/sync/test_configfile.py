"""The configuration of sync: what a file may say, and every fault of one at once, with its path and line."""

from pathlib import Path
from typing import Any

import pytest

from dex.engine.sync.config import ColumnNaming, InstanceTable, SyncConfig, SyncRetryPolicy
from dex.engine.sync.configfile import load_config
from dex.engine.sync.rowkey import RowKey
from dex.engine.sync.tablename import TableName
from dex.wcl.errors import InputError

DOCUMENTED = """
attributeStore:
  stores:
    orders:
      type: postgres
      dsn: ""
      tableName: public.orders
      rowKey: order-{order_id}
      columnNaming: snake_case
      attributeMaps:
        Items:
          tableName: public.order_items
          instanceKeyColumn: item_key
      fencingTableName: dexzd_attribute_sync_fencing
  schemaSyncInterval: 1m
  syncBatchSize: 100
  syncAttemptTimeout: 30s
  syncRetryPolicy:
    initialInterval: 100ms
    backoffCoefficient: 2.0
    maximumInterval: 30s
    maximumAttempts: 0
    totalDuration: 1h
lease: {duration: 10s}
cluster: {id: eu-1}
"""
ORDERS_DSN = {"DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS": "postgresql://dex:secret@db.example/shop"}
MINIMAL = "attributeStore: {stores: {a: {type: postgres, dsn: 'dbname=d', tableName: t}}}"


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """Load a text as a file."""

    def load_(text: str, environ: dict[str, str] | None = None) -> SyncConfig:
        file = tmp_path / "sync.yaml"
        file.write_text(text, encoding="utf-8")
        return load_config(file, environ or {})

    return load_


def faults(load: Any, text: str, environ: dict[str, str] | None = None) -> list[str]:
    """Give the faults of a text, without the name of the file."""
    with pytest.raises(InputError) as caught:
        load(text, environ)
    assert str(caught.value).count("sync.yaml:") == len(caught.value.facts["faults"])
    return [fault.partition("sync.yaml:")[2] for fault in caught.value.facts["faults"]]


def in_section(line: str) -> str:
    return f"attributeStore:\n  {line}\n"


def in_store(line: str) -> str:
    store = ["type: postgres", "dsn: dbname=d", "tableName: t", line]
    return "attributeStore:\n  stores:\n    a:\n" + "".join(f"      {each}\n" for each in store)


@pytest.mark.spec("Y-02", "Y-03")
def test_the_documented_file_is_read(load: Any) -> None:
    """Every key of it, with the DSN from the environment."""
    config = load(DOCUMENTED, ORDERS_DSN)
    store = config.stores["orders"]
    assert store.dsn.reveal() == "postgresql://dex:secret@db.example/shop"
    assert (store.name, store.table) == ("orders", TableName("public", "orders"))
    assert store.row_key == RowKey("order-{order_id}")
    assert store.column_naming is ColumnNaming.SNAKE_CASE
    assert store.attribute_maps == {"Items": InstanceTable(TableName("public", "order_items"), "item_key")}
    assert store.fencing_table == TableName(None, "dexzd_attribute_sync_fencing")
    assert config.cluster_id == "eu-1"
    assert config.retry == SyncRetryPolicy()
    assert SyncConfig(stores=config.stores, cluster_id="eu-1") == config


@pytest.mark.spec("Y-02")
def test_what_a_file_leaves_out_has_its_default(load: Any) -> None:
    """The defaults of the table, and exact column names."""
    config = load(MINIMAL)
    assert (config.schema_sync_interval, config.batch_size, config.attempt_timeout) == (60, 100, 30)
    assert (config.lease_duration, config.cluster_id) == (10, None)
    retry = config.retry
    assert (retry.initial_interval, retry.backoff_coefficient, retry.maximum_interval) == (0.1, 2, 30)
    assert (retry.maximum_attempts, retry.total_duration) == (0, 3600)
    store = config.stores["a"]
    assert (store.row_key, store.column_naming, store.attribute_maps) == (None, ColumnNaming.EXACT, {})
    assert store.fencing_table == TableName(None, "dexzd_attribute_sync_fencing")


@pytest.mark.spec("Y-02")
@pytest.mark.parametrize("text", ["", "# nothing\n", "attributeStore:\n", "attributeStore: {stores: {}}", "{}"])
def test_without_stores_sync_is_off(load: Any, text: str) -> None:
    assert load(text) == SyncConfig()


@pytest.mark.spec("Y-02")
def test_an_explicit_zero_means_the_default(load: Any) -> None:
    """As a number, and as a duration with a unit or without."""
    text = """
attributeStore:
  schemaSyncInterval: 0
  syncBatchSize: 0
  syncAttemptTimeout: 0s
  syncRetryPolicy:
    {initialInterval: 0ms, backoffCoefficient: 0, maximumInterval: 0h, maximumAttempts: 0, totalDuration: 0}
lease: {duration: 0}
"""
    assert load(text) == SyncConfig()


@pytest.mark.spec("Y-02")
def test_values_other_than_the_defaults_are_read(load: Any) -> None:
    text = """
attributeStore:
  schemaSyncInterval: 90s
  syncBatchSize: 7
  syncAttemptTimeout: 500ms
  syncRetryPolicy:
    {initialInterval: 1s, backoffCoefficient: 1.5, maximumInterval: 1s, maximumAttempts: 3, totalDuration: 1d}
lease: {duration: 1m}
"""
    config = load(text)
    assert (config.schema_sync_interval, config.batch_size, config.attempt_timeout) == (90, 7, 0.5)
    assert config.retry == SyncRetryPolicy(
        initial_interval=1, backoff_coefficient=1.5, maximum_interval=1, maximum_attempts=3, total_duration=86400
    )
    assert config.lease_duration == 60


@pytest.mark.spec("Y-17")
@pytest.mark.parametrize(
    ("attempt", "lease", "transaction", "margin"), [(30, 10, 2.5, 2.5), (30, 60, 15, 15), (1, 10, 1, 2.5)]
)
def test_a_transaction_lasts_a_quarter_of_the_lease_at_most(
    attempt: float, lease: float, transaction: float, margin: float
) -> None:
    config = SyncConfig(attempt_timeout=attempt, lease_duration=lease)
    assert (config.transaction_timeout, config.margin) == (transaction, margin)


@pytest.mark.spec("Y-01", "Y-02")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (in_store("type: x").replace("type: postgres\n      ", ""),
         "6: attributeStore.stores.a.type: 'x' is not a type of store; write `type: postgres`, the only one"),
        (in_store("rowKey: '{a}{b}'"), "7: attributeStore.stores.a.rowKey: the row key '{a}{b}' has no text between"),
        (in_store("columnNaming: snakecase"),
         "7: attributeStore.stores.a.columnNaming: 'snakecase' is not a column naming; did you mean snake_case?"),
        (in_store("fencingTableName: a.b.c"), "7: attributeStore.stores.a.fencingTableName: 'a.b.c' is not a table"),
        (in_store("tablName: x"), "7: attributeStore.stores.a.tablName: unknown key 'tablName'; did you mean tableNam"),
        (in_store("attributeMaps: {M: {tableName: m}}"),
         "7: attributeStore.stores.a.attributeMaps.M.instanceKeyColumn: is missing"),
        (in_store("attributeMaps: {M: {instanceKeyColumn: m}}"),
         "7: attributeStore.stores.a.attributeMaps.M.tableName: is missing"),
        (in_store("attributeMaps: {M: {tableName: t, instanceKeyColumn: m}}"),
         "7: attributeStore.stores.a.attributeMaps.M.tableName: t is the table of the store itself"),
        (in_store("attributeMaps: {M: {tableName: m, instanceKeyColumn: m}, N: {tableName: m, instanceKeyColumn: m}}"),
         "7: attributeStore.stores.a.attributeMaps.N.tableName: m is the table of AttributeMap M"),
        (in_store("rowKey: '{k}'\n      attributeMaps: {M: {tableName: m, instanceKeyColumn: k}}"),
         "8: attributeStore.stores.a.attributeMaps.M.instanceKeyColumn: 'k' is a column of the row key"),
        (in_store("attributeMaps: [M]"), "7: attributeStore.stores.a.attributeMaps must be a mapping"),
        (in_store("tableName: u"),
         "7: in attributeStore.stores.a the key 'tableName' comes twice, in lines 6 and 7; keep one of them"),
        (in_section("schemaSyncInterval: 60"), "2: attributeStore.schemaSyncInterval: '60' is not a duration"),
        (in_section("syncAttemptTimeout: -1s"), "2: attributeStore.syncAttemptTimeout: '-1s' is not a duration"),
        (in_section("syncAttemptTimeout: [1s]"), "2: attributeStore.syncAttemptTimeout: must be a single value"),
        (in_section("syncBatchSize: 1.5"), "2: attributeStore.syncBatchSize: '1.5' is not a whole number"),
        (in_section("syncBatchSize: true"), "2: attributeStore.syncBatchSize: 'true' is not a whole number"),
        (in_section("syncBatchsize: 10"),
         "2: attributeStore.syncBatchsize: unknown key 'syncBatchsize'; did you mean syncBatchSize?"),
        (in_section("syncRetryPolicy: {backoffCoefficient: .inf}"),
         "2: attributeStore.syncRetryPolicy.backoffCoefficient: .inf is not positive and finite"),
        (in_section("syncRetryPolicy: {backoffCoefficient: .nan}"), "backoffCoefficient: .nan is not positive"),
        (in_section("syncRetryPolicy: {backoffCoefficient: -1}"), "backoffCoefficient: -1 is not positive"),
        (in_section("syncRetryPolicy: {backoffCoefficient: 1e999}"), "backoffCoefficient: 1e999 is not positive"),
        (in_section("syncRetryPolicy: {backoffCoefficient: two}"), "backoffCoefficient: 'two' is not a number"),
        (in_section("syncRetryPolicy: {maximumAttempts: -1}"), "maximumAttempts: '-1' is not a whole number"),
        (in_section("syncRetryPolicy: {initialInterval: 1m}"),
         "2: attributeStore.syncRetryPolicy.initialInterval: maximumInterval is less than initialInterval"),
        (in_section("syncRetryPolicy:\n    initialInterval: 2s\n    maximumInterval: 1s"),
         "4: attributeStore.syncRetryPolicy.maximumInterval: maximumInterval is less than initialInterval"),
        ("lease: {duration: soon}", "1: lease.duration: 'soon' is not a duration"),
        ("lease: {duraton: 1s}", "1: lease.duraton: unknown key 'duraton'; did you mean duration?"),
        ("attributeStores: {}", "1: attributeStores: unknown key 'attributeStores'; did you mean attributeStore?"),
        ("cluster: {id: [a]}", "1: cluster.id: must be a single value"),
        ("cluster: {id: é}", "1: cluster.id: 'é' is not an ASCII text"),
        (r'cluster: {id: "a\0"}', r"1: in cluster the key 'id' has a character that is no text"),
        (r'attributeStore: {stores: {"a\ud800": {}}}',
         r"1: in attributeStore.stores the key 'a\ud800' has a character that is no text; leave it out"),
        ("[]", "1: the file must be a mapping"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_path_and_line(load: Any, text: str, fault: str) -> None:
    """The line is the one that is wrong, and what to do follows (case 22)."""
    (found,) = faults(load, text)
    assert fault in found


@pytest.mark.spec("Y-01")
def test_all_faults_are_told_at_once(load: Any) -> None:
    """In the order of their lines."""
    text = """
attributeStore:
  stores:
    reporting: {type: mysql, dsn: dbname=x, tableName: t}
    other: {dsn: dbname=x}
    reporting: {}
  syncBatchSize: many
lease: 10s
"""
    found = faults(load, text)
    assert [fault.partition(":")[0] for fault in found] == ["4", "5", "5", "6", "7", "8"]
    assert "the key 'reporting' comes twice, in lines 4 and 6" in found[3]


@pytest.mark.spec("Y-01")
@pytest.mark.parametrize("text", ["a: 'x", "a: b: c", "\ta: 1", "a: &x [*y]", "a: 1\n---\nb: 2", "a: \0"])
def test_what_is_no_yaml_is_one_line(load: Any, text: str) -> None:
    with pytest.raises(InputError, match="this is not YAML") as caught:
        load(text)
    assert "\n" not in caught.value.message


@pytest.mark.spec("Y-01")
def test_a_missing_or_binary_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nosuch.yaml: No such file"):
        load_config(tmp_path / "nosuch.yaml")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8"):
        load_config(tmp_path / "binary")


@pytest.mark.spec("Y-03")
@pytest.mark.parametrize(
    ("store", "variable"),
    [
        ("orders", "DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS"),
        ("eu-1.orders", "DEX_ZD_ATTRIBUTE_STORE_DSN_EU_1_ORDERS"),
        ("straße x", "DEX_ZD_ATTRIBUTE_STORE_DSN_STRA_E_X"),
    ],
)
def test_a_dsn_comes_from_the_environment_where_the_file_has_none(load: Any, store: str, variable: str) -> None:
    """The name in upper case, each other character an underscore; the file goes first."""
    text = "attributeStore: {stores: {%s: {type: postgres, tableName: t, dsn: %s}}}"
    assert load(text % (store, '""'), {variable: "dbname=env"}).stores[store].dsn.reveal() == "dbname=env"
    assert load(text % (store, "dbname=file"), {variable: "dbname=env"}).stores[store].dsn.reveal() == "dbname=file"
    (found,) = faults(load, text % (store, '""'), {variable: ""})
    assert f"attributeStore.stores.{store}.dsn: the store has no DSN; write one here or set {variable}" in found


@pytest.mark.spec("Y-01", "Y-03")
@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:hunter2@h:notaport/d", "host=h password=hunter2 nosuch=1", "hunter2", "postgresql://u:hunter2@h/d?x=1",
        "host=h password='hunter2", "postgresql://u:hunter2@[h/d",
    ],
)  # fmt: skip
def test_a_dsn_that_is_none_is_not_repeated(load: Any, dsn: str) -> None:
    """From the file or from the environment, which is named then."""
    text = "attributeStore: {stores: {orders: {type: postgres, tableName: t, dsn: %s}}}"
    for written, environ in ((f'"{dsn}"', {}), ('""', {"DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS": dsn})):
        (found,) = faults(load, text % written, environ)
        assert "this is not a PostgreSQL connection string" in found
        assert ("DSN_ORDERS: " in found) is bool(environ)
        assert "hunter2" not in found


@pytest.mark.spec("Y-03")
def test_a_dsn_at_the_wrong_place_is_not_repeated(load: Any) -> None:
    """A password never shows, even where a key was expected (case 25)."""
    for text in ('"postgresql://u:hunter2@h/d": 1', '"host=h password=hunter2": 1'):
        assert "hunter2" not in " ".join(faults(load, text))
