"""Attempts whose process ends: they count, whoever picks them up; what a worker leaves on purpose does not."""

import signal
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dex import RetryPolicy, StartFlowOptions, StepOptions, go_to, graceful_complete
from dex.engine.client import Client, connect
from dex.engine.flows.options import FlowTimeoutPolicy
from dex.engine.flows.runtime.begun import Begun, under_way
from dex.wcl.commands.flows import GetFlowState
from tests.chaos.children import Child
from tests.engine.flows.runtime.conftest import INSIDE, history
from tests.engine.flows.runtime.desk import PATIENCE, Desk, Do, Gate

TWICE = StepOptions(execute_retry=RetryPolicy(timedelta(milliseconds=1), maximum_attempts=2))
FOR_EVER = StepOptions(execute_retry=RetryPolicy(timedelta(milliseconds=1), maximum_interval=timedelta(milliseconds=1)))

_DIE = """
import ctypes, os, sys
from datetime import timedelta
from dex import *
RETRY = RetryPolicy(timedelta(milliseconds=1), maximum_attempts=2)
def die(what):
    if sys.argv[2] == what:
        print("dying", flush=True)
        ctypes.string_at(0) if sys.argv[3] == "fault" else os._exit(7)
class A(Step[int]):
    def get_step_options(self):
        return StepOptions(wait_for_retry=RETRY, execute_retry=RETRY)
    def wait_for(self, context, input):
        die("wait_for")
        if sys.argv[3] == "waits":
            return Wait.until(Timer.by_duration(timedelta(days=1)))
        return Wait.skip_immediately()
    def execute(self, context, input):
        die("execute")
        return graceful_complete(input)
class Job(Flow[int]):
    def get_persistence_schema(self):
        return PersistenceSchema.of()
    def get_steps(self):
        return StepList.start_step(A)
    def handle_timeout(self, context):
        die("handle_timeout")
        return graceful_complete(0)
with connect(sys.argv[1]) as client:
    client.register(Job)
    client.wait_for_flow("a")
"""


def start(data_dir: Path, flow: Desk, options: StartFlowOptions | None = None) -> None:
    with connect(data_dir) as client:
        client.engine.flows.worker.start = lambda: None
        client.start_flow(flow, "a", 3, options)


def crash(data_dir: Path, handler: str, how: str = "exit") -> None:
    """Have a process work until its handler ends it."""
    with Child(_DIE, data_dir, handler, how) as child:
        assert child.hear() == "dying"
        assert child.process.wait(PATIENCE) == (-signal.SIGSEGV if how == "fault" else 7)


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize("how", ["exit", "fault"])
def test_a_handler_that_ends_its_process_each_time_uses_up_its_attempts(data_dir, how):
    """The process that works next counts the lost attempt, waits as the policy says, and works on."""
    start(data_dir, Desk(Do("A", lambda c, i: graceful_complete()), name="Job"))
    crash(data_dir, "execute", how)
    crash(data_dir, "execute", how)
    with Child(_DIE, data_dir, "nothing", how) as survivor:
        assert survivor.end() == []
    with connect(data_dir) as client:
        run = client.describe_flow("a")
        assert (run.status, run.output) == ("failed", None)
        assert run.error.startswith("step A-1 failed: the process that ran A.execute ended before it did")
        assert [event.detail.get("outcome") for event in history(client, "a")] == [None, "waiting", "retry", "failed"]


@pytest.mark.spec("FL-08")
def test_wait_for_that_ends_its_process_counts_apart_from_execute(data_dir):
    start(data_dir, Desk(Do("A", lambda c, i: graceful_complete()), name="Job"))
    crash(data_dir, "wait_for")
    crash(data_dir, "execute")
    with Child(_DIE, data_dir, "nothing", "") as survivor:
        assert survivor.end() == []
    with connect(data_dir) as client:
        outcomes = [event.detail.get("outcome") for event in history(client, "a")]
        assert outcomes == [None, "retry", "waiting", "retry", "completed"]
        assert client.describe_flow("a").output == 3


@pytest.mark.spec("FL-08", "FL-14")
def test_a_timeout_handler_that_ends_its_process_fails_the_flow(data_dir):
    options = StartFlowOptions(timeout=timedelta(milliseconds=1), timeout_policy=FlowTimeoutPolicy.HANDLER)
    start(data_dir, Desk(Do("A", lambda c, i: graceful_complete()), name="Job"), options)
    crash(data_dir, "handle_timeout", "waits")
    with Child(_DIE, data_dir, "nothing", "waits") as survivor:
        assert survivor.end() == []
    with connect(data_dir) as client:
        run = client.describe_flow("a")
        assert (run.status, "Job.handle_timeout ended before" in run.error) == ("failed", True)


@pytest.mark.spec("FL-08")
def test_a_lost_attempt_is_kept_for_who_knows_its_flow(data_dir):
    """A process that knows another Flow works in between, and so does one that comes to know this one late."""
    start(data_dir, Desk(Do("A", lambda c, i: graceful_complete()), name="Job"))
    crash(data_dir, "execute")
    for number in range(2):
        with connect(data_dir) as stranger:
            stranger.start_flow(Desk(Do("A", lambda c, i: graceful_complete()), name="Other"), f"o{number}")
            stranger.wait_for_flow(f"o{number}")
    attempts = []
    with connect(data_dir) as client:
        client.wait_for_flow("o0")
        client.register(
            Desk(Do("A", lambda c, i: attempts.append(c.attempt) or graceful_complete(), TWICE), name="Job")
        )
        client.wait_for_flow("a")
    assert attempts == [2]


@pytest.mark.spec("FL-08")
def test_kills_never_fail_a_step_without_a_limit_of_attempts(data_dir):
    """Also many of them: each one is an attempt, and the next one runs after a delay."""
    start(data_dir, Desk(Do("A", lambda c, i: graceful_complete()), name="Job"))
    ran = []
    with connect(data_dir) as client:
        client.engine.flows.worker.start = lambda: None
        run_id = client.describe_flow("a").run_id
    for attempt in range(1, 6):
        leave_begun(data_dir, Begun(run_id, "A", 1, attempt))
        with connect(data_dir) as client:
            client.engine.flows.worker.start = lambda: None
            flow = Desk(Do("A", lambda c, i: ran.append(c.attempt) or graceful_complete(), FOR_EVER), name="Job")
            client.register(flow)
            worker = client.engine.flows.worker
            with worker._turn(until_idle=True):
                worker._attempt(due_work(client))
    assert ran == []
    with connect(data_dir) as client:
        client.register(flow)
        assert client.wait_for_flow("a").status == "completed"
    assert ran == [6]


def due_work(client: Client) -> Any:
    """Give the one thing that is due, once it is."""
    while not (due := client.engine.flows.worker._due(frozenset())):
        pass
    (work,) = due.values()
    return work


def leave_begun(data_dir: Path, *begun: Begun) -> None:
    """Write what a process leaves that is killed while it runs attempts."""
    slots = [msgspec.json.encode((each, 1, False)).ljust(1024, b"\0") for each in begun]
    (data_dir / "worker.lock").write_bytes(b"".join(slots))


@pytest.mark.spec("FL-08")
@INSIDE
def test_what_was_committed_before_its_process_ended_does_not_count(client, work, local):
    """It ended between its commit and forgetting the attempt, or wrote what nobody can read."""
    client.start_flow(Desk(Do("A", lambda c, i: go_to("B", i)), Do("B", lambda c, i: graceful_complete(i))), "d", 5)
    run_id = client.describe_flow("d").run_id
    work()
    before = [event.kind for event in history(client, "d")]
    leave_begun(local.path.parent, Begun(run_id, "A", 1, 1), Begun("another", "A", 1, 1))
    with (local.path.parent / "worker.lock").open("ab") as file:
        file.write(b"{nonsense")
    work()
    assert [event.kind for event in history(client, "d")] == before
    with client.engine.flows.worker._turn(until_idle=False):
        assert client.engine.flows.worker._begun.lost == {}


@pytest.mark.spec("FL-08")
def test_closing_leaves_a_handler_that_does_not_end_and_its_attempt_does_not_count(data_dir, monkeypatch):
    monkeypatch.setattr("dex.engine.flows.runtime.worker._GRACE_SECONDS", 0.0)
    client = connect(data_dir)
    gate = Gate(lambda c: graceful_complete(7))
    flow = Desk(Do("A", gate, TWICE))
    client.start_flow(flow, "d")
    assert gate.inside.wait(PATIENCE)
    lock = client.engine.flows.worker.lock_path
    assert list(under_way(lock)) == [Begun(client.describe_flow("d").run_id, "A", 1, 1)]
    client.close()
    assert under_way(lock) == {}
    gate.open.set()
    attempts = []
    with connect(data_dir) as again:
        again.register(Desk(Do("A", lambda c, i: attempts.append(c.attempt) or graceful_complete(8), TWICE)))
        assert again.wait_for_flow("d").output == 8
    assert attempts == [1]
    for thread in threading.enumerate():
        if thread.name == "dex-step":
            thread.join(PATIENCE)


@pytest.mark.spec("FL-08", "FL-12")
def test_state_tells_since_when_a_handler_runs(data_dir):
    gate = Gate(lambda c: graceful_complete())
    with connect(data_dir) as client, connect(data_dir) as other:
        other.engine.flows.worker.start = lambda: None
        client.start_flow(Desk(Do("A", gate)), "d")
        assert gate.inside.wait(PATIENCE)
        for each in (client, other):
            (step,) = each.execute(GetFlowState(flow_id="d")).steps
            assert step.running_since >= step.due_at
        gate.open.set()
        client.wait_for_flow("d")
        client.start_flow(Desk(Do("A", gate)), "later", options=StartFlowOptions(start_delay=timedelta(days=1)))
        (step,) = client.execute(GetFlowState(flow_id="later")).steps
        assert step.running_since is None
