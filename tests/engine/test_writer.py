"""The writer: who leads, what followers get, and that an interrupt at any line leaves the line of callers in order."""

import os
import signal
import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dex.engine.local import LocalEngine
from dex.wcl.commands import DefineStateStore, DescribeStateStore, PutRow, RowWritten
from dex.wcl.commands.flows import DescribeFlow
from dex.wcl.errors import Unavailable
from tests.engine.fakes import FakeClock
from tests.engine.interrupts import PATIENCE, Caller

WRITER = "/engine/writer.py"


class GateClock(FakeClock):
    """A clock that holds whoever asks for the time, which the writer does inside its transaction."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()

    def now_ms(self) -> int:
        self.asked.set()
        assert self.gate.wait(PATIENCE)
        return super().now_ms()

    def close_gate(self) -> None:
        self.asked.clear()
        self.gate.clear()


@pytest.fixture
def clock() -> Iterator[GateClock]:
    clock = GateClock()
    yield clock
    clock.gate.set()


@pytest.fixture
def engine(still: LocalEngine) -> LocalEngine:
    still.execute(DefineStateStore(name="s"))
    return still


def _put(engine: LocalEngine, key: str) -> Callable[[], RowWritten]:
    return lambda: engine.execute(PutRow(store="s", key=key.encode()))


def _until(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.0005)):
        if condition():
            return
        pause.wait(0.0005)
    raise AssertionError("it never came true")


def _queued(engine: LocalEngine, count: int) -> Callable[[], bool]:
    return lambda: len(engine._writer._queue) == count


def _rows(engine: LocalEngine) -> dict[str, int]:
    """Give the keys with the positions they were written at, and see that row and journal say the same."""
    with closing(sqlite3.connect(engine.path, timeout=0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")  # nobody has kept the lock
        rows = connection.execute("SELECT key, id FROM rows_1_0").fetchall()
        journaled = [seq for (seq,) in connection.execute("SELECT seq FROM journal ORDER BY seq")]
    assert sorted(seq for _, seq in rows) == journaled[1:]
    return {key.decode(): seq for key, seq in rows}


@pytest.mark.spec("S-17")
def test_callers_that_wait_share_the_next_commit_in_the_order_they_came(engine, clock):
    clock.close_gate()
    leader = Caller(_put(engine, "leader"))
    assert clock.asked.wait(PATIENCE)
    waiting = []
    for number in range(5):
        waiting.append(Caller(_put(engine, f"waiting{number}")))
        _until(_queued(engine, number + 1))
    commits: list[str] = []
    engine._writer._connection.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    clock.gate.set()
    first = leader.end().result.seq
    assert [caller.end().result.seq for caller in waiting] == [first + 1 + number for number in range(5)]
    assert len(commits) == 2


@pytest.mark.spec("S-05", "S-17")
def test_a_job_with_a_fault_fails_alone_and_the_others_of_its_commit_are_done(engine, clock):
    """A pass of housekeeping is what can fail with something else than an error of ours."""

    def faulty(*_arguments: Any) -> bool:
        raise ZeroDivisionError

    clock.close_gate()
    callers = [Caller(_put(engine, "leader"))]
    assert clock.asked.wait(PATIENCE)
    for number, call in enumerate([_put(engine, "a"), lambda: engine._writer.run(faulty), _put(engine, "b")]):
        callers.append(Caller(call))
        _until(_queued(engine, number + 1))
    clock.gate.set()
    errors = [caller.end().error for caller in callers]
    assert [type(error) for error in errors] == [type(None), type(None), ZeroDivisionError, type(None)]
    assert set(_rows(engine)) == {"leader", "a", "b"}


@pytest.mark.spec("S-17")
def test_a_connection_that_is_lent_reads_what_was_committed_and_keeps_commits_in_line(engine, clock):
    """It is lent to one at a time, and to nobody while a commit is under way."""
    waiting = []

    def read(connection):
        waiting.append(Caller(_put(engine, "waiting")))
        _until(_queued(engine, 1))
        return connection.execute("SELECT key FROM rows_1_0").fetchall(), engine._writer.lend(lambda second: second)

    _put(engine, "before")()
    assert engine._writer.lend(read) == ([(b"before",)], None)
    assert waiting[0].end().error is None
    clock.close_gate()
    leader = Caller(_put(engine, "leader"))
    assert clock.asked.wait(PATIENCE)
    assert engine._writer.lend(lambda connection: connection) is None
    clock.gate.set()
    assert leader.end().error is None
    assert set(_rows(engine)) == {"before", "waiting", "leader"}


@pytest.mark.spec("S-17")
def test_what_is_raised_while_the_connection_is_lent_leaves_it_free(engine):
    with pytest.raises(ZeroDivisionError):
        engine._writer.lend(lambda _: 1 / 0)
    with pytest.raises(Unavailable):
        engine._writer.lend(lambda connection: connection.execute("SELECT nothing"))
    assert set(_rows(engine)) == set()
    _put(engine, "after")()


@pytest.mark.spec("S-17")
def test_who_meets_another_process_on_the_connection_that_is_lent_goes_on_without_it(engine):
    def read(connection):
        return "elsewhere" if connection is None else connection.execute("DELETE FROM garbage")

    with closing(sqlite3.connect(engine.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert engine._writer.lend(read) == "elsewhere"
    _put(engine, "after")()


@pytest.mark.spec("S-17")
def test_an_interrupt_at_any_line_of_a_lone_call_leaves_neither_lock_nor_half_a_mutation(engine):
    line, interrupts = 0, 0
    while True:
        line += 1
        caller = Caller(_put(engine, f"lone{line}"), (WRITER, line)).end()
        rows = _rows(engine)
        if not caller.interrupted:
            assert caller.result.seq == rows[f"lone{line}"]
            break
        interrupts += 1
        assert Caller(_put(engine, f"after{line}")).end().error is None
    assert interrupts > 30


@pytest.mark.spec("S-17")
def test_an_interrupt_of_a_leader_at_any_line_tells_each_follower_the_truth(engine, clock):
    """The interrupted caller waits in line behind one that holds the file, then leads two others, or would have."""
    line = 0
    interrupted_while_leading = set()
    while True:
        line += 1
        clock.close_gate()
        holder = Caller(_put(engine, f"holder{line}"))
        assert clock.asked.wait(PATIENCE)
        leader = Caller(_put(engine, f"leader{line}"), (WRITER, line))
        _until(lambda: _queued(engine, 1)() or not leader.is_alive())  # noqa: B023  # called at once
        ahead = len(engine._writer._queue)
        followers = []
        for number in (1, 2):
            followers.append(Caller(_put(engine, f"follower{number}-{line}")))
            _until(_queued(engine, ahead + number))
        clock.gate.set()
        for caller in (holder, leader, *followers):
            caller.end()
        rows = _rows(engine)
        assert holder.error is None
        for number, follower in enumerate(followers, 1):
            if follower.error is None:
                assert rows[f"follower{number}-{line}"] == follower.result.seq
            else:
                assert isinstance(follower.error, Unavailable)
                assert "nothing was changed" in str(follower.error)
                assert f"follower{number}-{line}" not in rows
                interrupted_while_leading.add(line)
        assert Caller(_put(engine, f"after{line}")).end().error is None
        if not leader.interrupted:
            break
    assert len(interrupted_while_leading) > 10


@pytest.mark.spec("S-17")
def test_closing_lets_those_in_line_finish_and_refuses_the_next(engine, clock):
    clock.close_gate()
    first = Caller(_put(engine, "first"))
    assert clock.asked.wait(PATIENCE)
    second = Caller(_put(engine, "second"))
    _until(_queued(engine, 1))
    closing_ = Caller(engine.close)
    _until(lambda: engine._writer._closed)
    late = Caller(_put(engine, "late")).end()
    clock.gate.set()
    for caller in (first, second, closing_):
        assert caller.end().error is None
    assert isinstance(late.error, Unavailable)
    assert set(_rows(engine)) == {"first", "second"}


@pytest.mark.spec("S-17")
def test_the_writer_waits_for_other_processes_in_short_steps_that_ctrl_c_can_end(engine):
    """SQLite's own wait cannot be interrupted, and would come on top of the timeout."""
    assert engine._writer._connection.execute("PRAGMA busy_timeout").fetchone() == (0,)


@pytest.mark.spec("P-01", "W-10")
def test_a_fork_is_told_to_open_its_own_client_and_never_waits(data_dir: Path, clock: GateClock) -> None:
    """The commit that was under way in the parent has no thread in the child, which must not wait for it."""
    with closing(LocalEngine(data_dir, clock=clock)) as engine:
        engine.execute(DefineStateStore(name="s"))
        clock.close_gate()
        leader = threading.Thread(target=engine.execute, args=(PutRow(store="s", key=b"a"),))
        leader.start()
        assert clock.asked.wait(PATIENCE)
        child = _fork()
        if child == 0:
            signal.alarm(10)  # a child that hangs is killed
            os._exit(_refusals(engine))
        _, status = os.waitpid(child, 0)
        clock.gate.set()
        leader.join()
        assert os.waitstatus_to_exitcode(status) == 3
        assert engine.execute(DescribeStateStore(name="s")).rows == 1


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of what is tested here
        return os.fork()


def _refusals(engine: LocalEngine) -> int:
    """Tell how many commands are refused as a fork's, then close what is not ours."""
    refused = 0
    commands = (PutRow(store="s", key=b"b"), DescribeStateStore(name="s"), DescribeFlow(flow_id="f"))
    for command in commands:
        try:
            engine.execute(command)
        except Unavailable as error:
            refused += "open a new client" in str(error)
    engine.close()
    return refused
