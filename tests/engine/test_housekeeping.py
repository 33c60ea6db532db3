"""How much a pass of housekeeping takes on, by who is waiting for the writer."""

from threading import Event, Thread
from types import SimpleNamespace

import pytest

from dex.engine.housekeeping import Housekeeping, Retention
from dex.engine.local import LocalEngine
from dex.engine.sweep import _ROWS
from dex.wcl.commands import ClearStateStore, DefineStateStore, PutRow
from tests.engine.fakes import FakeClock
from tests.engine.flows.runtime.desk import Aside

_STORED = 200


@pytest.fixture
def cleared(still: LocalEngine) -> LocalEngine:
    """An engine that has rows to sweep, the last record being this moment's."""
    still.execute(DefineStateStore(name="s"))
    still.execute_many([PutRow(store="s", key=b"%d" % i) for i in range(_STORED)])
    still.execute(ClearStateStore(name="s"))
    return still


@pytest.mark.spec("S-13")
def test_the_thread_sweeps_a_few_rows_at_a_time_while_there_are_writers(cleared, clock: FakeClock):
    work = cleared._housekeeping.one_pass(60, yielding=True)
    assert cleared._writer.run(work)
    assert _left(cleared) == _STORED - _ROWS
    clock.advance(1000)
    assert not cleared._writer.run(work)
    assert _left(cleared) == 0


@pytest.mark.spec("S-13")
def test_an_engine_that_closes_yields_to_nobody(cleared):
    cleared._housekeeping._closing.set()
    assert not cleared._writer.run(cleared._housekeeping.one_pass(60, yielding=True))
    assert _left(cleared) == 0


def _left(engine: LocalEngine) -> int:
    """Give how many rows are still to be swept."""
    with engine._readers.snapshot() as snapshot:
        garbage = [name for (name,) in snapshot.connection.execute("SELECT table_name FROM garbage")]
        return sum(snapshot.connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in garbage)


@pytest.mark.spec("S-13")
def test_a_pass_rides_along_with_the_next_mutation(cleared):
    writer, met = cleared._writer, []

    def work(_connection, _catalog, head) -> bool:
        met.append(head.seq)
        return True

    rider = Thread(target=lambda: met.append(writer.ride(work, 60)))
    rider.start()
    while writer._rider is None:
        pass
    put = cleared.execute(PutRow(store="s", key=b"k"))
    rider.join()
    assert met == [put.seq, True]


@pytest.mark.spec("S-13")
def test_a_pass_that_nobody_takes_along_is_not_done(cleared):
    assert cleared._writer.ride(lambda *_: pytest.fail("it ran"), 0.001) is None
    cleared.execute(PutRow(store="s", key=b"k"))


@pytest.mark.spec("S-13")
def test_an_engine_may_be_closed_while_a_commit_of_another_thread_starts_the_housekeeping(clock, monkeypatch):
    housekeeping, starting, go = Housekeeping(clock, Retention()), Event(), Event()

    class Slow(Thread):
        def start(self) -> None:
            starting.set()
            assert go.wait(20)
            super().start()

    monkeypatch.setattr("dex.engine.housekeeping.threading.Thread", Slow)
    waking = Aside(housekeeping.wake, SimpleNamespace(run=lambda *_: False))
    assert starting.wait(20)
    stopping = Aside(housekeeping.stop, 0)
    assert housekeeping._closing.wait(20)
    go.set()
    stopping.result()
    waking.result()
