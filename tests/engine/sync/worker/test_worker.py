"""The worker's threads: bounded, ended when told, and going on after faults of the file."""

import threading
from typing import Any

import pytest

from dex.engine.client import Client
from dex.engine.clock import SystemClock
from dex.engine.sync import acknowledger, storewriter
from dex.wcl.commands.sync import SyncBacklog
from dex.wcl.errors import FailedPrecondition, Unavailable
from tests.engine.conftest import OpenEngine
from tests.engine.sync.worker.flow import Order, synced_to
from tests.engine.sync.worker.running import until, worker_of, working
from tests.engine.sync.worker.scripted import Call, Scripted, written
from tests.engine.sync.worker.test_closing import Gate

FLOW = Order()


@pytest.fixture
def clock() -> SystemClock:
    return SystemClock()


@pytest.fixture
def client(client: Client) -> Client:
    client.register(FLOW)
    return client


def start(client: Client, *flow_ids: str) -> None:
    for flow_id in flow_ids:
        client.start_flow(FLOW, flow_id, options=synced_to("orders"))
        client.set_attributes(flow_id, {"Total": 1})


def pending(client: Client) -> int:
    return client.execute(SyncBacklog(limit=1)).total


@pytest.mark.spec("Y-05")
def test_runs_are_written_side_by_side_and_none_twice_at_once(client: Client) -> None:
    gate = Gate()
    start(client, *"abcdef")
    with working(worker_of(client.engine.flows.parts, {"orders": gate}).run):
        until(lambda: len(gate.calls) == storewriter.THREADS)
        client.set_attributes("a", {"Total": 2})
        gate.may_go.release(1000)
        until(lambda: pending(client) == 0)
    assert gate.rows["a"] == {"Total": 2}
    assert len(gate.calls) == 7


@pytest.mark.spec("Y-26")
def test_when_it_stops_what_is_under_way_is_finished_and_what_stands_in_line_is_left(client: Client) -> None:
    gate = Gate()
    start(client, *(f"f{number}" for number in range(40)))
    worker = worker_of(client.engine.flows.parts, {"orders": gate})
    with working(worker.run):
        until(lambda: len(gate.calls) == storewriter.THREADS)
        threading.Timer(0.1, lambda: gate.may_go.release(1000)).start()
    assert len(gate.rows) == len(gate.calls) == storewriter.THREADS
    assert pending(client) == 40 - storewriter.THREADS
    assert worker.is_owner is False
    until_empty = worker_of(client.engine.flows.parts, {"orders": Scripted()})
    until_empty.run(threading.Event(), until_empty=True)
    assert pending(client) == 0


@pytest.mark.spec("Y-24")
def test_the_gauges_are_as_of_the_last_scan(client: Client) -> None:
    gate = Gate()
    start(client, "a", "b")
    worker = worker_of(client.engine.flows.parts, {"orders": gate})
    entries, age = worker._metrics.backlog_entries, worker._metrics.oldest_pending_age
    with working(worker.run):
        until(lambda: (entries._value.get(), age._value.get() > 0.1) == (2, True))
        gate.may_go.release(1000)
        until(lambda: (entries._value.get(), age._value.get()) == (0, 0))


@pytest.mark.spec("Y-17")
def test_a_lease_too_short_for_a_write_leaves_the_worker_at_rest(client: Client, monkeypatch: Any) -> None:
    """It does not go round in circles until there is a longer one."""
    start(client, "a")
    destination = Scripted()
    worker = worker_of(client.engine.flows.parts, {"orders": destination})
    looks: list[int] = []
    monkeypatch.setattr(worker._lease, "remaining", lambda: looks.append(1) or 0.5)
    seen = client.engine.flows.parts.changes.seen()
    with working(worker.run):
        threading.Event().wait(0.3)
        assert client.engine.flows.parts.changes.seen() == seen
        assert len(looks) < 50
        monkeypatch.undo()
        until(lambda: destination.rows)


@pytest.mark.spec("Y-26")
def test_what_cannot_be_acknowledged_is_written_again_after_a_pause(client: Client, monkeypatch: Any) -> None:
    """A full disk: the worker goes on, and does not write the same without a pause."""
    monkeypatch.setattr(acknowledger, "FAULT_SECONDS", 0.1)
    start(client, "a")
    destination = Scripted()
    write = client.engine.flows.parts.writer.write
    faults = [Unavailable("the disk is full", "free space")] * 3

    def full(records: Any) -> Any:
        if faults:
            raise faults.pop()
        return write(records)

    monkeypatch.setattr(client.engine.flows.parts.writer, "write", full)
    with working(worker_of(client.engine.flows.parts, {"orders": destination}).run):
        until(lambda: pending(client) == 0)
    assert len(destination.calls) == 4


@pytest.mark.spec("Y-26")
def test_a_file_that_cannot_be_read_for_a_while_stops_nothing(client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(storewriter, "FAULT_SECONDS", 0.01)
    start(client, "a")
    destination = Scripted()
    worker = worker_of(client.engine.flows.parts, {"orders": destination})
    readers = client.engine.flows.parts.readers
    take, faults = readers.take, [Unavailable("the file is busy", "try again")] * 20

    def busy() -> Any:
        if faults and threading.current_thread().name.startswith(("dex-sync", "Thread")):
            raise faults.pop()
        return take()

    monkeypatch.setattr(readers, "take", busy)
    with working(worker.run):
        until(lambda: not faults and pending(client) == 0)
    assert destination.rows == {"a": {"Total": 1}}


@pytest.mark.spec("Y-16")
def test_a_process_that_stands_by_takes_over_when_the_owner_ends(client: Client, open_engine: OpenEngine) -> None:
    """Until then it writes nothing; a flush waits for the owner."""
    other = Client(open_engine())
    gate, second = Gate(), Scripted()
    owner = worker_of(client.engine.flows.parts, {"orders": gate})
    standby = worker_of(other.engine.flows.parts, {"orders": second})
    with working(standby.run):
        pass
    start(client, "a")
    with working(owner.run):
        assert gate.inside.acquire(timeout=20)
        with working(lambda stop: standby.run(stop, until_empty=True)):
            threading.Event().wait(0.1)
            assert standby.is_owner is False
            gate.may_go.release()
    assert second.rows == {}
    client.set_attributes("a", {"Total": 2})
    with working(standby.run):
        until(lambda: second.rows)
        assert standby.is_owner
    assert [call.fence.epoch for call in (*gate.calls, *second.calls)] == [2, 3]


@pytest.mark.spec("Y-16")
def test_another_cluster_id_ends_the_worker_at_once(client: Client) -> None:
    parts = client.engine.flows.parts
    worker_of(parts, {}, cluster_id="one").run(threading.Event(), until_empty=True)
    with pytest.raises(FailedPrecondition, match="belongs to cluster 'one'"):
        worker_of(parts, {}, cluster_id="two").run(threading.Event(), until_empty=True)


@pytest.mark.spec("Y-18")
def test_one_stores_failures_do_not_delay_another(open_engine: OpenEngine) -> None:
    """Case 44: one answers nothing at all."""
    client = Client(open_engine(attribute_stores=["orders", "others"]))
    client.register(FLOW)
    stuck, works = Gate(), Scripted()
    for number in range(20):
        client.start_flow(FLOW, f"f{number}", options=synced_to("orders", "others"))
        client.set_attributes(f"f{number}", {"Total": 1})
    with working(worker_of(client.engine.flows.parts, {"orders": stuck, "others": works}).run):
        until(lambda: len(works.rows) == 20)
        assert stuck.rows == {}
        stuck.may_go.release(1000)


class Slow(Scripted):
    """A destination that keeps nothing, and tells how many runs were in hands at most."""

    def __init__(self) -> None:
        super().__init__()
        self.writer: Any = None
        self.most = 0
        self.answer = self._look

    def _look(self, call: Call):
        self.calls.clear()
        self.most = max(self.most, len(self.writer._acknowledger._busy))
        return written(call)


@pytest.mark.spec("Y-13")
def test_what_is_in_hands_is_bounded_however_large_the_backlog_is(client: Client) -> None:
    start(client, *(f"f{number}" for number in range(700)))
    slow = Slow()
    worker = worker_of(client.engine.flows.parts, {"orders": slow})
    (slow.writer,) = worker._writers
    worker.run(threading.Event(), until_empty=True)
    assert slow.most <= acknowledger._UNACKNOWLEDGED
    assert len(slow.rows) == 700
