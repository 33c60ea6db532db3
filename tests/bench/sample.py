"""The rows that all benchmarks write, and the store they go to."""

from collections.abc import Iterator
from typing import NamedTuple

from dex.engine.client import Client
from dex.engine.statestore import StateStore
from dex.wcl.commands import PutRow
from dex.wcl.values import Value

STORE = "bench.employees"
PER_GROUP = 10
_SCATTER = 2654435761  # odd, so that multiplying by it visits every 32-bit number once, in no order


class Row(NamedTuple):
    """A row with a grouping and a unique named key. Keys and passports come in no order, as in life."""

    key: bytes
    payload: bytes
    department: str
    passport: str


def rows(count: int, payload_bytes: int = 100, start: int = 0) -> Iterator[Row]:
    """Give rows `start` to `start + count`, ten to a department."""
    payload = b"x" * payload_bytes
    for number in range(start, start + count):
        yield Row(key(number), payload, f"department-{number // PER_GROUP}", f"P{scatter(number + 7):010}")


def key(number: int) -> bytes:
    """Give the key of a row."""
    return b"user-%010d" % scatter(number)


def scatter(number: int) -> int:
    """Give a number's place in an order that has nothing to do with it."""
    return number * _SCATTER % 2**32


def define(client: Client, name: str = STORE) -> StateStore:
    """Declare the store."""
    return client.state_stores.define(StateStore.named(name).add_key("department").add_key("passport", unique=True))


def command(row: Row, store: str = STORE) -> PutRow:
    """Give the command that puts a row."""
    named: dict[str, Value] = {"department": row.department, "passport": row.passport}
    return PutRow(store=store, key=row.key, payload=row.payload, named=named)


def fill(client: Client, count: int, name: str = STORE, batch: int = 5000) -> None:
    """Put many rows."""
    for start in range(0, count, batch):
        several = rows(min(batch, count - start), start=start)
        client.engine.execute_many([command(row, name) for row in several])
