"""Syncs a thousand Flows to a PostgreSQL and shows their rows. `make demo` runs it.

The server is the one of DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS, or one of its own for as long as it takes. Either way the
tables are in a new database, which is dropped at the end.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from dex.samples.demo_postgres import server_in

DSN = "DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS"
HERE = Path(__file__).parent
FLOWS = 1000
ITEM = '{"itemKey": "shoes/42", "sku": "S42", "quantity": 1, "priceCents": 5900}'
ENVIRONMENT = {"DEX_FLOWS": str(HERE / "synced_orders.py"), "DEX_SYNC_CONFIG": str(HERE / "sync.yaml")}


def main() -> int:
    """Run the demo."""
    with _server() as server, _database(server) as dsn:
        os.environ.update(ENVIRONMENT, **{DSN: dsn})
        _dex("sync", "check", "-o", "table")
        _start_flows()
        _dex("flow", "invoke", "order-17", "add_item", "--input", ITEM)
        _dex("sync", "backlog", "--limit", "4", "-o", "table")
        _dex("sync", "flush")
        with psycopg.connect(dsn) as connection:
            _query(connection, "SELECT count(*), sum(total_cents) FROM orders")
            _query(connection, "SELECT order_id, customer_name, total_cents, paid FROM orders WHERE order_id = '17'")
            _query(connection, "SELECT * FROM order_items")
        _dex("sync", "backlog")
        _dex("sync", "stores", "-o", "table")
    return 0


@contextmanager
def _server() -> Iterator[str]:
    """Give the DSN of a server: the one that is given, or a new one."""
    if os.environ.get(DSN):
        yield os.environ[DSN]
        return
    with TemporaryDirectory(prefix="dex-demo-") as folder, server_in(Path(folder)) as server:
        yield server.dsn("postgres")


@contextmanager
def _database(server: str) -> Iterator[str]:
    """Give the DSN of a database with the tables of sync.sql; whoever makes the tables is also who writes to them."""
    name = f"dex_demo_{uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            dsn = make_conninfo(server, dbname=name)
            tables = (HERE / "sync.sql").read_text(encoding="utf-8").replace(" TO dex;", " TO CURRENT_USER;")
            with psycopg.connect(dsn) as owner:
                owner.execute(tables.encode())
            yield dsn
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _start_flows() -> None:
    """Start the Flows by typed commands in one process, which is quicker than a process for each."""
    commands = [
        {
            "command": "start_flow",
            "type": "SyncedOrderFlow",
            "flow_id": f"order-{number}",
            "attributes": {"CustomerName": f"Customer {number}", "TotalCents": number},
            "attribute_stores": ["orders"],
        }
        for number in range(1, FLOWS + 1)
    ]
    _say(f"dex command -  # {len(commands)} such as {json.dumps(commands[0])}")
    subprocess.run(["dex", "command", "-"], input=json.dumps(commands).encode(), stdout=subprocess.DEVNULL, check=True)


def _dex(*arguments: str) -> None:
    _say(" ".join(("dex", *arguments)))
    subprocess.run(["dex", *arguments], check=True)


def _query(connection: "psycopg.Connection[tuple[object, ...]]", query: str) -> None:
    _say(f'psql -c "{query}"')
    rows = connection.execute(query.encode()).fetchall()
    sys.stdout.write("".join(" | ".join(map(str, row)) + "\n" for row in rows))
    sys.stdout.flush()


def _say(line: str) -> None:
    sys.stdout.write(f"\033[36m$ {line}\033[0m\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
