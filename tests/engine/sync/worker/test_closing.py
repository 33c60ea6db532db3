"""Closes that wait for what is pending, and writes that go on after a close (with the worker in its own thread)."""

import threading
from datetime import timedelta

import pytest

from dex.engine.client import Client
from dex.engine.clock import SystemClock
from dex.engine.flows.records import Close, CloseEnded, RunCommitted
from dex.engine.sync import backlog
from dex.engine.sync.batch import FailureScope
from dex.engine.sync.dropping import drop
from dex.engine.sync.metrics import SyncMetrics
from dex.wcl.errors import FlowNotActiveOrNotFoundError, LongPollTimeoutError
from tests.engine.conftest import OpenEngine
from tests.engine.flows.runtime.closing import closing
from tests.engine.flows.runtime.desk import Desk
from tests.engine.sync.worker.flow import Order, synced_to
from tests.engine.sync.worker.running import PATIENCE, until, worker_of, working
from tests.engine.sync.worker.scripted import Call, Scripted, failed, written

FLOW, ENDING = Order(), Order(ends=True)
SOON = timedelta(seconds=PATIENCE)


class Gate(Scripted):
    """A destination that holds each write until the test opens it."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = threading.Semaphore(0)
        self.may_go = threading.Semaphore(0)
        self.then = written
        self.answer = self._hold

    def _hold(self, call: Call):
        self.inside.release()
        assert self.may_go.acquire(timeout=PATIENCE)
        return self.then(call)


@pytest.fixture
def clock() -> SystemClock:
    return SystemClock()


@pytest.fixture
def client(open_engine: OpenEngine) -> Client:
    client = Client(open_engine())
    for flow in (FLOW, ENDING):
        client.register(flow)
    return client


def is_closing(client: Client, flow_id: str) -> bool:
    return client.describe_flow(flow_id).closing


@pytest.mark.spec("FL-14", "FL-15", "Y-05")
def test_a_natural_close_waits_for_every_pending_write_and_for_those_made_meanwhile(client: Client) -> None:
    """The commits do not wait; WaitForFlow returns once the table has everything."""
    gate = Gate()
    client.start_flow(ENDING, "a", options=synced_to("orders"))
    with working(worker_of(client.engine.flows.parts, {"orders": gate}).run):
        assert gate.inside.acquire(timeout=PATIENCE)
        until(lambda: is_closing(client, "a"))
        client.set_attributes("a", {"Note": "extends"})
        gate.may_go.release()
        assert gate.inside.acquire(timeout=PATIENCE)
        with pytest.raises(LongPollTimeoutError, match="it waits for synced Attributes: `dex sync run` writes them"):
            client.wait_for_flow("a", timedelta(0))
        assert client.describe_flow("a").status == "running"
        gate.may_go.release()
        result = client.wait_for_flow("a", SOON)
    assert (result.status, result.output) == ("completed", "done")
    assert gate.rows == {"a": {"Total": 99, "Note": "extends"}}


@pytest.mark.spec("FL-14", "Y-19")
def test_a_drop_ends_the_wait_too(client: Client) -> None:
    gate = Gate()
    gate.then = failed(FailureScope.RUN, retryable=False)
    client.start_flow(ENDING, "a", options=synced_to("orders"))
    with working(worker_of(client.engine.flows.parts, {"orders": gate}).run):
        until(lambda: is_closing(client, "a"))
        gate.may_go.release()
        assert client.wait_for_flow("a", SOON).status == "completed"
    assert gate.rows == {}


@pytest.mark.spec("FL-14", "Y-22")
def test_a_close_does_not_wait_for_a_store_that_is_gone(client: Client) -> None:
    client.start_flow(ENDING, "a", options=synced_to("orders"))
    until(lambda: is_closing(client, "a"))
    with working(worker_of(client.engine.flows.parts, {}).run):
        assert client.wait_for_flow("a", SOON).status == "completed"


@pytest.mark.spec("FL-14")
def test_a_close_waits_for_all_its_stores(client: Client, open_engine: OpenEngine) -> None:
    client = Client(open_engine(attribute_stores=["orders", "others"]))
    client.register(ENDING)
    gates = {"orders": Gate(), "others": Gate()}
    client.start_flow(ENDING, "a", options=synced_to("orders", "others"))
    with working(worker_of(client.engine.flows.parts, gates).run):
        until(lambda: is_closing(client, "a"))
        for gate in gates.values():
            with pytest.raises(LongPollTimeoutError):
                client.wait_for_flow("a", timedelta(0))
            gate.may_go.release()
            until(lambda gate=gate: gate.rows)
        assert client.wait_for_flow("a", SOON).status == "completed"


@pytest.mark.spec("FL-16")
def test_a_stop_does_not_wait_and_pending_writes_go_on_after_it(client: Client) -> None:
    """Also while a close waits; an erase after it syncs null, and nothing else is accepted."""
    gate = Gate()
    client.start_flow(ENDING, "a", options=synced_to("orders"))
    client.set_attributes("a", {"Secret": "s"})
    with working(worker_of(client.engine.flows.parts, {"orders": gate}).run):
        assert gate.inside.acquire(timeout=PATIENCE)
        until(lambda: is_closing(client, "a"))
        client.stop_flow("a")
        assert client.wait_for_flow("a", timedelta(0)).status == "canceled"
        gate.may_go.release(10)
        until(lambda: gate.rows == {"a": {"Total": 99, "Secret": "s"}})
        with pytest.raises(FlowNotActiveOrNotFoundError):
            client.set_attributes("a", {"Note": "late"})
        client.set_attributes("a", {"Secret": None})
        until(lambda: gate.rows == {"a": {"Total": 99, "Secret": None}})
    assert client.describe_flow("a").status == "canceled"


@pytest.mark.spec("FL-14")
def test_whoever_flushes_last_ends_the_closes_that_waited(client: Client) -> None:
    """Another process that only flushes leaves none behind."""
    client.start_flow(ENDING, "a", options=synced_to("orders"))
    until(lambda: is_closing(client, "a"))
    client.engine.flows.worker.stop()
    worker_of(client.engine.flows.parts, {"orders": Scripted()}).run(threading.Event(), until_empty=True)
    assert client.describe_flow("a").status == "completed"


@pytest.mark.spec("FL-14")
def test_a_worker_of_another_process_ends_no_close_that_waits_for_a_call(
    client: Client, open_engine: OpenEngine
) -> None:
    """Only the process of the call knows that it is under way."""
    desk = Desk()
    client.start_flow(desk, "d", options=synced_to("orders"))
    client.start_flow(FLOW, "other", options=synced_to("orders"))
    client.set_attributes("other", {"Total": 1})
    elsewhere = Client(open_engine())
    gate = Gate()
    worker = worker_of(elsewhere.engine.flows.parts, {"orders": gate})
    with working(worker.run):
        with closing(client, desk, "d"):
            client.set_attributes("other", {"Total": 2})
            gate.may_go.release(1000)
            until(lambda: gate.rows == {"other": {"Total": 2}})
            worker._end_closes()
            assert client.describe_flow("d").status == "running"
        assert client.wait_for_flow("d", SOON).status == "completed"


@pytest.mark.spec("FL-14")
def test_a_close_that_a_call_held_open_is_ended_once_the_last_write_is_made(client: Client) -> None:
    """The call ended first; no worker of Flows runs any more."""
    client.engine.flows.worker.stop()
    client.start_flow(FLOW, "a", options=synced_to("orders"))
    client.set_attributes("a", {"Total": 1})
    parts, run_id = client.engine.flows.parts, client.describe_flow("a").run_id
    parts.commit(RunCommitted(run_id=run_id, kind="timeout", close=Close("completed"), held=True))
    sync = worker_of(parts, {"orders": Scripted()})
    parts.commit(CloseEnded(run_id=run_id))
    assert client.describe_flow("a").closing
    sync.run(threading.Event(), until_empty=True)
    assert client.describe_flow("a").status == "completed"


@pytest.mark.spec("FL-14", "Y-17")
def test_the_closes_that_an_outage_held_up_end_together_and_the_lease_is_kept_meanwhile(client: Client) -> None:
    """Each with a commit of its own would take longer than the lease lasts."""
    client.engine.flows.worker.stop()
    parts = client.engine.flows.parts
    for number in range(150):
        client.start_flow(FLOW, f"f{number}", options=synced_to("orders"))
        client.set_attributes(f"f{number}", {"Total": 1})
        run_id = client.describe_flow(f"f{number}").run_id
        parts.commit(RunCommitted(run_id=run_id, kind="timeout", close=Close("completed")))
    worker = worker_of(parts, {"orders": Scripted()})
    worker._lease.keep()
    with parts.readers.snapshot() as snapshot:
        marks = backlog.marks_of(snapshot.connection, "orders", 1000)
    drop(parts, "orders", marks, "a test", SyncMetrics())
    before, kept_at = parts.writer.writes, []
    worker._lease.keep = lambda: kept_at.append(parts.writer.writes) or worker._lease.held
    worker._end_closes()
    assert {client.describe_flow(f"f{number}").status for number in range(150)} == {"completed"}
    assert kept_at == [before, before + 1]
    assert parts.writer.writes == before + 2
