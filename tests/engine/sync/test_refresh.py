"""Reading the tables again: by the clock, and at once for a column that nobody has looked for yet."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dex.engine.sync.batch import FailureScope, Outcome
from dex.engine.sync.checking import StoreSchema
from dex.engine.sync.config import SyncConfig
from dex.engine.sync.destination import Destination
from dex.engine.sync.planning import MissingColumn
from dex.engine.sync.refresh import Schemas
from dex.engine.sync.table import Column, TableSchema
from dex.engine.sync.tablename import TableName
from tests.engine.sync.conftest import FENCE, batch, store_config
from tests.postgres import Database


def schema(*columns: str) -> StoreSchema:
    """Give a store's schema whose own table has these columns."""
    found = {name: Column(name=name, type="text", declared="text", nullable=True) for name in columns}
    table = TableSchema(name=TableName("public", "orders"), kind="table", columns=found, key=("id",))
    return StoreSchema(table, {}, table)


class Readings:
    """Gives schemas in turn, and counts them; an error among them is raised."""

    def __init__(self, *found: StoreSchema | Exception) -> None:
        self._found = list(found)
        self.count = 0
        self.now = 1000.0
        self.jitter: list[tuple[float, float]] = []

    def read(self) -> StoreSchema:
        self.count += 1
        found = self._found.pop(0) if len(self._found) > 1 else self._found[0]
        if isinstance(found, Exception):
            raise found
        return found

    def uniform(self, low: float, high: float) -> float:
        self.jitter.append((low, high))
        return high

    def schemas(self) -> Schemas:
        schemas = Schemas(self.read, 60.0, lambda: self.now, self.uniform)
        schemas.refresh()
        return schemas


@pytest.mark.spec("Y-23")
def test_a_refresh_is_due_after_the_interval_with_its_jitter() -> None:
    """The jitter is drawn anew for every cycle, from 0.9 to 1.1 of the interval."""
    readings = Readings(schema("id"), schema("id", "a"), schema("id", "b"))
    schemas = readings.schemas()
    for advance, count in ((65.9, 1), (0.1, 2), (65.9, 2), (0.1, 3)):
        readings.now += advance
        schemas.refresh_if_due()
        assert readings.count == count
    assert readings.jitter == [(0.9, 1.1)] * 3


@pytest.mark.spec("Y-23")
def test_a_failed_reading_keeps_the_snapshot_until_the_next_interval() -> None:
    first, third = schema("id"), schema("id", "a")
    readings = Readings(first, OSError("gone"), third)
    schemas = readings.schemas()
    readings.now += 66
    with pytest.raises(OSError, match="gone"):
        schemas.refresh_if_due()
    assert schemas.current() is first
    schemas.refresh_if_due()
    assert readings.count == 2
    readings.now += 66
    schemas.refresh_if_due()
    assert schemas.current() is third


@pytest.mark.spec("Y-23")
def test_a_column_is_looked_for_at_once_and_once() -> None:
    """One that was found missing waits for the interval; found and lost again, it is looked for again."""
    total = {MissingColumn(None, "total")}
    readings = Readings(schema("id"), schema("id"), schema("id", "total"), schema("id"))
    schemas = readings.schemas()
    assert schemas.wants_refresh(total)
    schemas.refresh_for(total, schemas.current())
    assert (readings.count, schemas.wants_refresh(total)) == (2, False)
    schemas.refresh()
    assert "total" in schemas.current().main.columns
    schemas.refresh()
    assert schemas.wants_refresh(total)


@pytest.mark.spec("Y-23")
def test_a_field_of_an_attribute_map_is_looked_for_once_per_process() -> None:
    """Its table may store only part of each value."""
    color = {MissingColumn("Items", "color")}
    readings = Readings(schema("id"))
    schemas = readings.schemas()
    schemas.refresh_for(color, schemas.current())
    schemas.refresh()
    assert not schemas.wants_refresh(color)


@pytest.mark.spec("Y-23")
def test_a_failed_reading_has_found_nothing_missing() -> None:
    """The column is looked for again by the next batch that writes it."""
    total = {MissingColumn(None, "total")}
    readings = Readings(schema("id"), OSError("gone"), schema("id", "total"))
    schemas = readings.schemas()
    with pytest.raises(OSError, match="gone"):
        schemas.refresh_for(total, schemas.current())
    assert schemas.wants_refresh(total)


@pytest.mark.spec("Y-23")
def test_batches_that_arrive_meanwhile_wait_and_share_the_reading() -> None:
    """Two batches with a new column cause one reading, and a third sees what it found."""
    old, new = schema("id"), schema("id", "total")
    entered, leave = threading.Event(), threading.Event()
    readings = Readings(old, new)
    schemas = readings.schemas()

    def slow_read() -> StoreSchema:
        entered.set()
        assert leave.wait(20)
        return Readings.read(readings)

    schemas._read = slow_read
    total = {MissingColumn(None, "total")}
    seen: list[StoreSchema] = []
    threads = [threading.Thread(target=lambda: seen.append(schemas.refresh_for(total, old))) for _ in range(2)]
    threads[0].start()
    assert entered.wait(20)
    threads += [threading.Thread(target=lambda: seen.append(schemas.current()))]
    for thread in threads[1:]:
        thread.start()
    assert seen == []
    leave.set()
    for thread in threads:
        thread.join(20)
    assert seen == [new, new, new]
    assert readings.count == 2


class Refreshing:
    """A destination on a clock that the test moves."""

    def __init__(self, database: Database, **fields: Any) -> None:
        self.now = 0.0
        self.store = Destination(
            store_config(database.dsn, **fields), SyncConfig(), lambda: self.now, lambda low, high: (low + high) / 2
        )
        self.store.open()
        self.readings = 0
        read = self.store._schemas._read

        def counted() -> StoreSchema:
            self.readings += 1
            return read()

        self.store._schemas._read = counted

    def write(self, **entries: Any) -> Outcome:
        return self.store.write(batch("f1", entries), FENCE).outcome


OpenRefreshing = Callable[..., Refreshing]
TABLES = """
CREATE TABLE orders (id text PRIMARY KEY, n bigint);
CREATE TABLE items (id text, item text, PRIMARY KEY (id, item));
"""
ITEMS: dict[str, Any] = {"maps": {"Items": ("items", "item")}}


@pytest.fixture
def refreshing(database: Database) -> Iterator[OpenRefreshing]:
    """Open a store on the test's database and clock."""
    opened: list[Refreshing] = []

    def open_(**fields: Any) -> Refreshing:
        opened.append(Refreshing(database, **fields))
        return opened[-1]

    yield open_
    for each in opened:
        each.store.close()


@pytest.mark.spec("Y-23")
def test_the_tables_are_read_after_a_restart_as_if_there_was_none(
    database: Database, refreshing: OpenRefreshing, caplog: pytest.LogCaptureFixture
) -> None:
    """A connection that the server has ended meanwhile is no failure of the reading: the schema is not kept."""
    database.execute("CREATE TABLE orders (id text PRIMARY KEY)")
    it = refreshing()
    for column in ("total", "more"):
        database.execute(
            f"ALTER TABLE orders ADD {column} bigint; SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE application_name = 'dex sync' AND datname = current_database()"
        )
        it.now += 100
        assert it.write(**{column: 1}) is Outcome.WRITTEN
    assert caplog.text == ""
    assert database.rows("SELECT total, more FROM orders") == [(1, 1)]


@pytest.mark.spec("Y-23")
def test_an_added_column_is_written_without_a_restart(database: Database, refreshing: OpenRefreshing) -> None:
    """The batch that brings it reads the tables at once, then writes it."""
    database.execute("CREATE TABLE orders (id text PRIMARY KEY)")
    it = refreshing()
    database.execute("ALTER TABLE orders ADD total bigint, ADD note text")
    it.write(total=1, note="x")
    assert it.readings == 1
    assert database.rows("SELECT * FROM orders") == [("f1", 1, "x")]


@pytest.mark.spec("Y-23")
def test_a_column_found_missing_waits_for_the_periodic_reading(
    database: Database, refreshing: OpenRefreshing, caplog: pytest.LogCaptureFixture
) -> None:
    """Until then it is filtered, with an error for each write."""
    database.execute("CREATE TABLE orders (id text PRIMARY KEY, n bigint)")
    it = refreshing()
    it.write(total=1, n=1)
    it.write(total=2, n=2)
    assert (it.readings, len(caplog.messages)) == (1, 2)
    database.execute("ALTER TABLE orders ADD total bigint")
    it.write(total=3)
    assert it.readings == 1
    it.now += 60
    it.write(total=4)
    assert it.readings == 2
    assert database.rows("SELECT * FROM orders") == [("f1", 2, 4)]


@pytest.mark.spec("Y-12", "Y-23")
def test_instances_without_a_table_of_their_own_do_not_read_without_end(
    database: Database, refreshing: OpenRefreshing
) -> None:
    """One reading looks for the columns of them all."""
    database.execute("CREATE TABLE orders (id text PRIMARY KEY)")
    it = refreshing()
    for at in range(20):
        it.write(**{f"Items/{at}": 1})
    assert it.readings == 1


@pytest.mark.spec("Y-10", "Y-23")
def test_a_new_column_of_an_instance_table_is_written(database: Database, refreshing: OpenRefreshing) -> None:
    """Its first field without a column reads the tables."""
    database.execute(TABLES)
    it = refreshing(**ITEMS)
    database.execute("ALTER TABLE items ADD qty int")
    it.write(**{"Items/a": {"qty": 1, "color": "red"}})
    it.write(**{"Items/b": {"qty": 2, "color": "red"}})
    assert it.readings == 1
    assert database.rows("SELECT * FROM items ORDER BY item") == [("f1", "a", 1), ("f1", "b", 2)]


@pytest.mark.spec("Y-10", "Y-23")
def test_tables_that_break_the_contract_later_keep_the_old_schema(
    database: Database, refreshing: OpenRefreshing, caplog: pytest.LogCaptureFixture
) -> None:
    """The periodic reading logs it and what the old schema knows is written; a new column waits, unfiltered."""
    database.execute(TABLES)
    it = refreshing(**ITEMS)
    database.execute("ALTER TABLE orders ADD total bigint; ALTER TABLE items ADD qty int NOT NULL")
    it.now += 60
    assert it.write(n=2) is Outcome.WRITTEN
    assert "AttributeMap Items: public.items requires a value for qty" in caplog.text
    result = it.store.write(batch("f1", total=5), FENCE)
    assert result.failure is not None
    assert (result.failure.scope, result.failure.retryable) == (FailureScope.RUN, True)
    database.execute("ALTER TABLE items ALTER qty DROP NOT NULL")
    assert it.write(total=5) is Outcome.WRITTEN
    assert database.rows("SELECT * FROM orders") == [("f1", 2, 5)]
