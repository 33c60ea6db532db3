"""`dex sync check` and the setting sync-config, on a real server."""

import pytest

from tests.cli.flow.conftest import InsideDex
from tests.cli.sync.conftest import SAMPLES, SECRET, VARIABLE, secret_dsn, write_config
from tests.postgres import Database


@pytest.mark.spec("Y-03", "Y-06", "Y-25")
def test_check_shows_what_maps_where(shop: InsideDex) -> None:
    """Each column with what is written to it, keys and instances too; the password is nowhere."""
    done = shop.ok("sync", "check")
    assert {(row["store"], row["table"], row["column"]): row["source"] for row in done.json} == {
        ("orders", "public.orders", "order_id"): "{order_id} of Flow ID order-{order_id}",
        ("orders", "public.orders", "customer_name"): "Attribute CustomerName",
        ("orders", "public.orders", "total_cents"): "Attribute TotalCents",
        ("orders", "public.orders", "paid"): "Attribute Paid",
        ("orders", "public.orders", "ordered_at"): "Attribute OrderedAt",
        ("orders", "public.orders", "details"): "Attribute Details",
        ("orders", "public.order_items", "order_id"): "{order_id} of Flow ID order-{order_id}",
        ("orders", "public.order_items", "item_key"): "key of each instance of Items",
        ("orders", "public.order_items", "sku"): "field of Items",
        ("orders", "public.order_items", "quantity"): "field of Items",
        ("orders", "public.order_items", "price_cents"): "field of Items",
        ("orders", "public.dexzd_attribute_sync_fencing", None): "fencing token",
    }
    assert "character varying(200)" in shop.ok("sync", "check", "-o", "table").text
    assert SECRET not in done.text + done.err


@pytest.mark.spec("Y-07", "Y-25")
def test_a_store_with_plain_names_maps_the_flow_id_and_exact_columns(dex: InsideDex, database: Database) -> None:
    database.execute('CREATE TABLE t (id text PRIMARY KEY, "Total" int, n int GENERATED ALWAYS AS (1) STORED)')
    path = write_config(dex.home, s={"type": "postgres", "dsn": database.dsn, "tableName": "t"})
    sources = [row["source"] for row in dex.ok("sync", "check", "--sync-config", str(path)).json]
    assert sources == ["Flow ID", "Attribute Total", "generated", "fencing token"]


@pytest.mark.spec("Y-25")
def test_what_no_loaded_flow_writes_is_told(shop: InsideDex, database: Database) -> None:
    """Columns and AttributeMaps without a definition, and columns of a type that takes nothing."""
    database.execute("ALTER TABLE orders ADD paid_by text, ADD tags text[], ADD seen timestamp")
    done = shop.ok("sync", "check")
    sources = {row["column"]: row["source"] for row in done.json if row["table"] == "public.orders"}
    assert sources["paid"] == "Attribute Paid"
    assert sources["paid_by"] == "Attribute whose snake_case form this is, which no loaded Flow syncs"
    assert sources["tags"] == sources["seen"] == "nothing, as its type takes no Attribute"
    store = {"type": "postgres", "dsn": database.dsn, "tableName": "orders", "rowKey": "order-{order_id}"}
    maps = {"Itms": {"tableName": "order_items", "instanceKeyColumn": "item_key"}}
    path = str(write_config(shop.home, orders={**store, "attributeMaps": maps}))
    for flows, known in ((shop.environ["DEX_FLOWS"], ", which no loaded Flow syncs"), ("", "")):
        rows = shop("sync", "check", "--sync-config", path, env={"DEX_FLOWS": flows}).json
        sources = {row["column"]: row["source"] for row in rows}
        assert (sources["sku"], sources["total_cents"]) == (f"field of Itms{known}", f"Attribute total_cents{known}")


@pytest.mark.spec("Y-25")
def test_missing_grants_are_told_before_any_write_needs_them(shop: InsideDex, database: Database) -> None:
    """Each table with what it lacks; grants of single columns do. What is told is what the sample grants."""
    role = f"clerk_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN; GRANT SELECT, UPDATE (paid), INSERT (paid) ON orders TO {role}")
    shop.environ[VARIABLE] = database.dsn.replace("//dex@", f"//{role}@")
    done = shop("sync", "check")
    assert (done.code, done.err.splitlines()) == (
        3,
        [
            "error: 2 faults; grant it as the owner of the tables",
            f"  store orders: the role {role} lacks SELECT, INSERT, UPDATE, DELETE on public.order_items",
            f"  store orders: the role {role} lacks SELECT, INSERT, UPDATE on public.dexzd_attribute_sync_fencing",
        ],
    )
    grants = [line for line in (SAMPLES / "sync.sql").read_text().splitlines() if line.startswith("GRANT")]
    database.execute("\n".join(grants).replace(" TO dex;", f" TO {role};"))
    shop.ok("sync", "check")
    database.execute(
        f"CREATE SCHEMA own; ALTER TABLE order_items SET SCHEMA own; DROP OWNED BY {role}; DROP ROLE {role}"
    )


@pytest.mark.spec("Y-01", "Y-03")
def test_every_fault_of_the_file_is_told_with_its_line(dex: InsideDex) -> None:
    """One line each, in the order of the file, and the exit code of bad input."""
    path = dex.home / "bad.yaml"
    path.write_text(
        "attributeStore:\n  stores:\n    a:\n      type: mysql\n      dsn: postgresql://ann:hush@db/x\n"
        "      tablename: t\n  syncBatchSize: many\n"
    )
    done = dex("sync", "check", "--sync-config", "bad.yaml")
    lines = done.err.splitlines()
    assert (done.code, done.text, lines[0]) == (2, "", "error: 4 faults")
    assert [line.split(":")[1] for line in lines[1:]] == ["3", "4", "6", "7"]
    assert "attributeStore.stores.a.type: 'mysql' is not a type of store" in lines[2]
    assert "did you mean tableName" in lines[3]
    assert "hush" not in done.err
    error = dex("sync", "check", "--sync-config", "bad.yaml", "-o", "json").error
    assert (error["kind"], len(error["faults"])) == ("syntax", 4)


@pytest.mark.spec("Y-06", "Y-16", "Y-25")
def test_the_faults_of_all_stores_are_told_and_what_is_good_is_shown(shop: InsideDex, database: Database) -> None:
    """A missing fencing table comes with the statement that makes it, on one line that can be pasted."""
    database.execute("CREATE TABLE numbered (id int PRIMARY KEY)")
    good = {"type": "postgres", "dsn": secret_dsn(database), "tableName": "orders", "rowKey": "o-{order_id}"}
    path = write_config(
        shop.home,
        bad={**good, "tableName": "numbered", "rowKey": "", "fencingTableName": "fence"},
        good=good,
        gone={**good, "tableName": "nowhere"},
    )
    done = shop("sync", "check", "--sync-config", str(path))
    assert (done.code, {row["store"] for row in done.json}) == (3, {"good"})
    first, *faults = done.err.splitlines()
    assert first == "error: 3 faults; correct the tables or the configuration, then start again"
    assert [fault.split(":")[0].strip() for fault in faults] == ["store bad", "store bad", "store gone"]
    assert "numbered is integer, and a character type is needed" in faults[0]
    assert 'create it as its owner: CREATE TABLE "fence" ( store_name text NOT NULL,' in faults[1]
    assert "the table nowhere does not exist" in faults[2]
    assert SECRET not in done.text + done.err


@pytest.mark.spec("Y-03", "Y-06")
@pytest.mark.parametrize("command", [("sync", "check"), ("sync", "run"), ("sync", "flush")])
def test_a_server_that_cannot_be_reached_ends_the_command(
    shop: InsideDex, database: Database, command: tuple[str, ...]
) -> None:
    """With the exit code of what may be tried again, the server's place, and not the password."""
    shop.environ[VARIABLE] = secret_dsn(database).replace(f":{database.server.port}/", ":1/")
    done = shop(*command)
    assert done.code == 4
    target = f"127.0.0.1:1/{database.name}"
    problem = 'connection to server at "127.0.0.1", port 1 failed: Connection refused'
    remedy = "check that the server runs and that the DSN is right"
    assert done.err == f"error: store orders: cannot use {target}: {problem}; {remedy}\n"
    assert SECRET not in done.err
    assert SECRET not in shop(*command, "-o", "json").err


@pytest.mark.spec("Y-03")
def test_a_store_without_dsn_names_its_variable(shop: InsideDex) -> None:
    del shop.environ[VARIABLE]
    done = shop("sync", "check")
    assert (done.code, VARIABLE in done.err) == (2, True)


@pytest.mark.spec("Y-04")
def test_a_start_needs_the_names_of_the_stores_and_no_dsn(shop: InsideDex) -> None:
    """An unknown name is refused with the nearest one, before anything is written."""
    del shop.environ[VARIABLE]
    refused = shop("flow", "start", "SyncedOrderFlow", "order-1", "--store", "ordrs")
    assert (refused.code, refused.err) == (1, "error: there is no Attribute Store 'ordrs'; did you mean orders?\n")
    assert shop("flow", "describe", "order-1").code == 1
    shop.ok("flow", "start", "SyncedOrderFlow", "order-1", "--store", "orders")
    assert shop.ok("flow", "describe", "order-1").json["attribute_stores"] == ["orders"]


@pytest.mark.spec("Y-04", "X-01")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot read"),
        ("attributeStore: [", "this is not YAML"),
        ("attributeStore:\n  stores: 7\n", ":2: stores must be a mapping"),
        ("a: 1\na: 2\n", "comes twice"),
    ],
)
def test_a_broken_file_is_an_error_only_where_it_is_needed(shop: InsideDex, text: str | None, problem: str) -> None:
    """Flows that name no store, and stores that are no Attribute Stores, work as without it."""
    path = shop.home / "broken.yaml"
    if text is not None:
        path.write_text(text)
    shop.environ["DEX_SYNC_CONFIG"] = str(path)
    shop.ok("store", "list")
    shop.ok("flow", "start", "SyncedOrderFlow", "order-1")
    shop.ok("sync", "backlog")
    done = shop("flow", "start", "SyncedOrderFlow", "order-2", "--store", "orders")
    assert done.code == 2
    assert problem in done.err
    assert str(path) in done.err


@pytest.mark.spec("X-01")
def test_the_setting_comes_from_everywhere_that_settings_come_from(shop: InsideDex) -> None:
    """File, environment and flag; without one the commands that need it say how to name it."""
    del shop.environ["DEX_SYNC_CONFIG"]
    done = shop("sync", "stores")
    assert (done.code, "--sync-config FILE or DEX_SYNC_CONFIG" in done.err) == (2, True)
    (shop.home / "config.yaml").write_text("sync-config: a.yaml\n")
    shop.environ["DEX_CONFIG"] = str(shop.home / "config.yaml")
    origins = []
    for flags, env in (([], {}), ([], {"DEX_SYNC_CONFIG": "b.yaml"}), (["--sync-config", "c.yaml"], {})):
        rows = shop("config", "show", *flags, env=env).json
        origins += [(row["value"], row["origin"]) for row in rows if row["setting"] == "sync-config"]
    assert origins == [
        (str(shop.home / "a.yaml"), f"file {shop.home / 'config.yaml'}"),
        (str(shop.home / "b.yaml"), "environment DEX_SYNC_CONFIG"),
        (str(shop.home / "c.yaml"), "flag --sync-config"),
    ]


@pytest.mark.spec("Y-01")
def test_no_store_is_said_to_be_none(dex: InsideDex) -> None:
    (dex.home / "empty.yaml").write_text("attributeStore:\n")
    done = dex("sync", "check", "--sync-config", "empty.yaml")
    assert (done.code, done.json, done.err) == (0, [], "no store is configured\n")
