"""Reading the backlog: by seeks, whatever its size."""

import sqlite3
import tracemalloc
from contextlib import closing
from typing import Any

import pytest

from dex.engine.sync import backlog
from dex.engine.sync.batch import FailureScope
from tests.engine.sync.worker.conftest import Now, Schedule
from tests.engine.sync.worker.scripted import failed, written

FIRST = 1000
LAST = FIRST + 299


def fill(s: Schedule, runs: int, instances: int) -> None:
    """Make a backlog of many runs, the first of which has many instances, as commits would have left it."""
    s.start("many", {"Total": 1, "Note": "n"})
    first = s.run_of("many")

    def mark(connection: sqlite3.Connection, *_: object) -> bool:
        at = s.clock.now_ms()
        rows = [("orders", first, f"Items/{number:06}", 1, at) for number in range(instances)]
        connection.executemany("INSERT INTO sync_marks VALUES (?, ?, ?, ?, ?)", rows)
        for number in range(1, runs):
            connection.execute(
                "INSERT INTO runs (id, run_id, flow_id, type, status, attribute_stores, input, started_at,"
                " timeout_policy) VALUES (?, ?, ?, 'Order', 'running', '[\"orders\"]', X'C0', 0, 'fail')",
                (FIRST + number, f"r{number}", f"flow-{number}"),
            )
            connection.execute("INSERT INTO sync_marks VALUES ('orders', ?, 'Total', 1, ?)", (FIRST + number, at))
        return False

    s.client.engine.flows.parts.writer.run(mark)


@pytest.mark.spec("Y-13")
def test_a_batch_has_plain_attributes_first_whatever_their_names(schedule: Any, local: Any) -> None:
    """Names around the slash, and instances of all kinds, in one table."""
    s = schedule()
    s.start("a", {"Total": 1})
    names = ["A", "A!", "A-", "A0", "A.", "B", "Ω", "zz", "A\U0010ffff"]
    instances = ["A/x", "A/\U0010ffff", "A/\U0010ffff\U0010ffff", "A/!", "Ω/1", "B/0", "B/1", "C/1", "zz/%2F"]
    keys = [*names, *instances]

    def mark(connection: sqlite3.Connection, *_: object) -> bool:
        connection.execute("DELETE FROM sync_marks")
        connection.executemany("INSERT INTO sync_marks VALUES ('orders', 1, ?, 1, 1)", [(key,) for key in keys])
        connection.execute("INSERT INTO sync_marks VALUES ('others', 1, 'no', 1, 1)")
        return False

    local.flows.parts.writer.run(mark)
    with local.flows.parts.readers.snapshot() as snapshot:
        for limit in (1, 5, 9, 12, 17, 18, 100):
            found, are_all = backlog.batch(snapshot.connection, "orders", 1, limit)
            assert [each.key for each in found] == [*sorted(names), *sorted(instances)][:limit]
            assert are_all is (limit >= len(keys))
        assert backlog.stores(snapshot.connection) == ["orders", "others"]


@pytest.mark.spec("Y-13", "Y-26")
def test_large_instances_are_written_in_several_transactions(schedule: Any, monkeypatch: Any) -> None:
    """One parameter of a statement cannot hold them all. All plain Attributes stay together, whatever their size."""
    monkeypatch.setattr(backlog, "_MANY_BYTES", 1000)
    s = schedule()
    large = {f"Items/{number}": "x" * 600 for number in range(5)}
    s.start("a", {"Total": 1, "Note": "x" * 1500, **large})
    assert [tuple(call.values) for call in s.turn()] == [("Note", "Total")]
    assert [tuple(call.values) for call in s.turn()] == [("Items/0", "Items/1")]
    assert [tuple(call.values) for call in s.turn()] == [("Items/2", "Items/3")]
    assert [tuple(call.values) for call in s.turn()] == [("Items/4",)]
    assert s.pending() == {}


def _trace(s: Schedule) -> list[str]:
    statements: list[str] = []
    take = s.client.engine._readers.take

    def traced() -> Any:
        reader = take()
        reader.connection.set_trace_callback(statements.append)
        return reader

    s.client.engine._readers.take = traced
    s.client.engine._writer._connection.set_trace_callback(statements.append)
    return statements


@pytest.mark.spec("Y-13", "Y-18")
def test_no_statement_on_the_way_of_a_write_reads_all_marks(schedule: Any) -> None:
    """What succeeds, what fails in each scope, what is dropped, a close that waits: every plan is asked for."""
    s = schedule(batch_size=10)
    fill(s, 50, 50)
    statements = _trace(s)
    for answer in (failed(FailureScope.STORE), failed(FailureScope.TIMEOUT), failed(FailureScope.RUN), written):
        s.destination.answer = answer
        s.turn()
        s.clock.advance(60_000)
    s.destination.answer = failed(FailureScope.RUN, retryable=False)
    s.client.set_attributes("many", {"Total": 5, "Note": "x"})
    s.turn()
    s.worker._scan()
    assert len(set(statements)) > 30
    with closing(sqlite3.connect(s.client.engine.path)) as connection:
        for statement in sorted(set(statements)):
            if statement.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"):
                plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
                for step in plan:
                    assert not f"{step} ".startswith(("SCAN sync_marks ", "SCAN m ", "SCAN r ", "USE TEMP")), statement
                    assert step != "SCAN runs", statement


@pytest.mark.spec("Y-13")
def test_a_turn_costs_the_same_in_a_large_backlog(schedule: Any) -> None:
    """SQLite counts its own instructions; Python's memory is counted too."""
    s = schedule()

    def cost() -> tuple[int, int]:
        ticks: list[int] = []
        local = s.client.engine
        for connection in (local._writer._connection, *(reader.connection for reader in local._readers._idle)):
            connection.set_progress_handler(lambda: ticks.append(1), 100)
        tracemalloc.start()
        s.turn()
        s.worker._scan()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return len(ticks), peak

    fill(s, 200, 200)
    cost()
    s.clock.advance(1_000)
    little = cost()
    s.client.engine._writer.run(lambda connection, *_: bool(connection.execute("DELETE FROM sync_marks").rowcount < 0))
    s.client.engine._writer.run(lambda connection, *_: bool(connection.execute("DELETE FROM runs").rowcount < 0))
    fill(s, 6000, 6000)
    s.clock.advance(1_000)
    much = cost()
    assert much[0] <= little[0] * 1.5
    assert much[1] <= little[1] * 1.5


@pytest.mark.spec("Y-18")
def test_a_run_that_is_due_is_found_behind_many_that_wait(schedule: Any) -> None:
    """Those that wait are passed without a pause."""
    s = schedule(retry={"initial_interval": 1000.0, "maximum_interval": 1000.0})
    fill(s, 300, 0)
    s.destination.answer = failed(FailureScope.RUN)
    while s.turn():
        pass
    s.client.engine._writer.run(lambda connection, *_: backlog.forget(connection, "orders", LAST) or False)
    s.destination.answer = written
    s.writer._cursor, windows = 0, 1
    while s.writer._submit_due(Now(), s.stop) and not s.destination.calls:
        windows += 1
    assert [call.flow_id for call in s.destination.take()] == ["flow-299"]
    assert windows == 5
