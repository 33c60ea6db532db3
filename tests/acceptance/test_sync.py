"""`dex sync` with its worker in processes of their own, on a real PostgreSQL that comes and goes."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import psycopg
import pyte
import pytest

from tests.acceptance.conftest import DEX, Dex
from tests.postgres import Database, Server, new_database, postgres

__all__ = ["postgres"]

SAMPLES = Path(__file__).parents[2] / "samples"
SECRET = "s3cr3t-w0rd"
PATIENCE = 20.0
LINES, COLUMNS = 24, 110


@pytest.fixture
def database(postgres: Server) -> Iterator[Database]:
    """A database with the tables of samples/sync.sql, and a role that has the grants of the sample and no more."""
    with new_database(postgres) as database:
        database.execute("DROP TABLE dexzd_attribute_sync_fencing")
        role = f"writer_{database.name}"
        database.execute(f"CREATE ROLE {role} LOGIN")
        database.execute((SAMPLES / "sync.sql").read_text().replace(" TO dex;", f" TO {role};"))
        database.dsn = database.dsn.replace("//dex@", f"//{role}:{SECRET}@")
        yield database
    postgres.execute(f"DROP ROLE {role}")


@pytest.fixture
def shop(dex: Dex, database: Database) -> Dex:
    """`dex` that syncs SyncedOrderFlow to the database, with the run order-17."""
    dex.environ |= {
        "DEX_FLOWS": str(SAMPLES / "synced_orders.py"),
        "DEX_SYNC_CONFIG": str(SAMPLES / "sync.yaml"),
        "DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS": database.dsn,
    }
    dex.ok("flow", "start", "SyncedOrderFlow", "order-17", "--store", "orders", "--attr", "CustomerName=Ann")
    return dex


@pytest.fixture
def start_worker(shop: Dex) -> Iterator[Callable[[], "subprocess.Popen[bytes]"]]:
    """Start `dex sync run`; what the test has not ended is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> "subprocess.Popen[bytes]":
        started.append(shop.start("sync", "run"))
        return started[-1]

    yield start
    for worker in started:
        worker.kill()
        worker.communicate()


def name_in(database: Database) -> Any:
    return database.rows("SELECT customer_name FROM orders WHERE order_id = '17'")


def until(found: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    """Ask again and again until the answer is the one that is wanted."""
    end = time.monotonic() + PATIENCE
    while not wanted(answer := found()):
        assert time.monotonic() < end, answer
        time.sleep(0.01)
    return answer


def line_with(process: "subprocess.Popen[bytes]", text: str) -> list[str]:
    """Read what a process says on standard error up to a line with a text."""
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line.decode())
        if text in said[-1]:
            return said
    raise AssertionError("".join(said))


@pytest.mark.spec("Y-03", "Y-05", "Y-25", "Y-26")
def test_rows_follow_flows_through_an_outage_and_a_change_of_owner(
    shop: Dex, database: Database, start_worker: Callable[[], "subprocess.Popen[bytes]"]
) -> None:
    """Flows go on without PostgreSQL, the backlog tells why it grows, and both drain; nobody says the password."""
    owner = start_worker()
    said = line_with(owner, "this process writes to the stores")
    assert "syncing to orders\n" in said
    until(lambda: name_in(database), lambda rows: rows == [("Ann",)])
    second = start_worker()
    said += line_with(second, "another process writes to the stores; this one stands by")

    database.server.stop()
    try:
        shop.ok("flow", "set", "order-17", "CustomerName=Bob")
        backlog = until(
            lambda: shop.ok("sync", "backlog").json, lambda found: found["entries"] and found["entries"][0]["attempts"]
        )
        (entry,) = backlog["entries"]
        assert (entry["store"], entry["flow_id"], entry["key"]) == ("orders", "order-17", "CustomerName")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", entry["next_attempt"])
        assert re.search(r"cannot use 127\.0\.0\.1|the connection was lost|PostgreSQL answers", entry["last_error"])
        failed = shop("sync", "backlog", "--fail-over", "1ms", "-o", "json")
        assert (failed.code, failed.error["total"]) == (1, 1)
        unreachable = shop("sync", "check")
        assert unreachable.code == 4
    finally:
        database.server.start()
    until(lambda: name_in(database), lambda rows: rows == [("Bob",)])
    assert shop.ok("sync", "backlog", "--fail-over", "1h").json["total"] == 0

    owner.terminate()
    said += owner.communicate(timeout=PATIENCE)[1].decode().splitlines()
    said += line_with(second, "this process writes to the stores")
    shop.ok("flow", "set", "order-17", "CustomerName=Cyd")
    until(lambda: name_in(database), lambda rows: rows == [("Cyd",)])
    second.send_signal(signal.SIGINT)
    said += second.communicate(timeout=PATIENCE)[1].decode().splitlines()
    assert (owner.returncode, second.returncode, said[-1]) == (0, 130, "cancelled")
    assert SECRET not in "".join([*said, json.dumps(backlog), failed.err, unreachable.err])


@pytest.mark.spec("Y-25")
def test_sigterm_finishes_the_write_that_is_under_way(
    shop: Dex, database: Database, start_worker: Callable[[], "subprocess.Popen[bytes]"]
) -> None:
    """A write that waits for a row lock is committed and acknowledged before the process ends, with exit code 0."""
    database.server.execute("INSERT INTO orders (order_id) VALUES ('17')", database.name)
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with psycopg.connect(database.server.dsn(database.name)) as other:
        other.execute("SELECT 1 FROM orders FOR UPDATE")
        worker = start_worker()
        until(lambda: database.rows(waiting), bool)
        worker.terminate()
    worker.communicate(timeout=PATIENCE)
    assert (worker.returncode, name_in(database)) == (0, [("Ann",)])
    assert shop.ok("sync", "backlog").json["total"] == 0


@pytest.mark.spec("Y-25", "Y-26")
def test_a_session_that_ends_in_a_delete_is_told_in_lines_of_sync_alone(
    shop: Dex, database: Database, start_worker: Callable[[], "subprocess.Popen[bytes]"]
) -> None:
    """The driver has warnings of its own about a pipeline that is lost; the failure itself says it all."""
    item = '{"itemKey": "shoes", "sku": "S42", "quantity": 1, "priceCents": 5900}'
    shop.ok("flow", "invoke", "order-17", "add_item", "--input", item)
    shop.ok("sync", "flush")
    shop.ok("flow", "set", "order-17", "Items/shoes:=null")
    waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with psycopg.connect(database.server.dsn(database.name)) as other:
        other.execute("SELECT 1 FROM order_items FOR UPDATE")
        worker = start_worker()
        until(lambda: database.rows(f"SELECT 1 {waiting}"), bool)
        database.execute(f"SELECT pg_terminate_backend(pid) {waiting}")
        said = line_with(worker, "a write failed")
    until(lambda: database.rows("SELECT 1 FROM order_items"), lambda rows: not rows)
    worker.terminate()
    said += worker.communicate(timeout=PATIENCE)[1].decode().splitlines()
    assert [
        line for line in said[1:] if not re.match(r"[-0-9]+T[:0-9]+Z (INFO|ERROR) (store orders: |this process)", line)
    ] == []


@pytest.mark.spec("Y-03")
def test_a_traceback_that_is_asked_for_does_not_show_the_dsn(shop: Dex, database: Database) -> None:
    dsn = re.sub(r":\d+/", ":1/", database.dsn)
    environ = {**shop.environ, "DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS": dsn}
    done = subprocess.run([DEX, "sync", "run", "-vv"], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr, SECRET in done.stderr) == (4, True, False)


@pytest.mark.spec("Y-25", "X-03")
@pytest.mark.parametrize("verb", ["check", "run"])
def test_what_a_server_does_by_itself_is_refused_there_without_asking_for_a_configuration(dex: Dex, verb: str) -> None:
    done = dex("sync", verb, "--endpoint", "http://127.0.0.1:9")
    assert done.code == 1
    assert "the target is http://127.0.0.1:9; run it where the data directory is" in done.err


@pytest.mark.spec("Y-25")
def test_watch_writes_a_line_for_each_look_into_a_pipe(shop: Dex) -> None:
    """Until Ctrl-C; with --fail-over it ends by itself."""
    watching = shop.start("sync", "backlog", "--watch")
    assert watching.stdout is not None
    looks = [json.loads(watching.stdout.readline()) for _ in range(2)]
    assert [(look["total"], look["rows_per_second"]) for look in looks] == [(1, 0.0), (1, 0.0)]
    assert looks[0]["oldest_age_seconds"] < looks[1]["oldest_age_seconds"]
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=PATIENCE)
    assert (watching.returncode, err) == (130, b"cancelled\n")
    assert shop("sync", "backlog", "--watch", "--fail-over", "1ms").code == 1


@pytest.mark.spec("Y-25")
def test_watch_draws_on_a_terminal(shop: Dex) -> None:
    """The entries, and the curves of backlog and rows; they go on as a worker drains it."""
    watching = pexpect.spawn(
        str(DEX),
        ["sync", "backlog", "--watch"],
        env=shop.environ,
        cwd=str(shop.home),
        encoding="utf-8",
        timeout=PATIENCE,
        dimensions=(LINES, COLUMNS),
    )
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.Stream(screen)

    def shown() -> str:
        stream.feed(watching.read_nonblocking(4096, timeout=PATIENCE))
        return "\n".join(screen.display)

    until(shown, lambda text: re.search(r"pending +1 +█(?s:.)*rows/s +0 +▁(?s:.)*order-17 +CustomerName", text))
    shop.ok("sync", "flush")
    until(shown, lambda text: re.search(r"pending +0 +█+▁\s*\n *rows/s +(0\.\d+|1) +▁+█", text))
    assert "CustomerName" not in "\n".join(screen.display)
    watching.sendintr()
    watching.expect(pexpect.EOF)
    watching.close()
    assert watching.exitstatus == 130
