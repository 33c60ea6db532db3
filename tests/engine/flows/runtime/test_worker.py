"""The worker: one for each directory, prompt to begin, to end and to take over, and idle where nothing is due."""

import signal
import threading
from datetime import timedelta
from threading import Event, Semaphore

import pytest

from dex import StartFlowOptions, StepMovement, StepOptions, Wait, dead_end, go_to, go_to_many, graceful_complete
from dex.engine.client import Client, connect
from dex.engine.flows.runtime import stepping
from dex.engine.flows.state import steps
from dex.wcl.commands.flows import PageHistory
from dex.wcl.errors import DexError, Unavailable
from tests.chaos.children import Child
from tests.engine.flows.runtime.conftest import history
from tests.engine.flows.runtime.desk import IN, PATIENCE, Aside, Await, Desk, Do, Gate, N
from tests.engine.sync.worker.running import until


def done(context, input):
    return graceful_complete(input)


@pytest.fixture
def running(open_engine):
    """Give a client that works in the background, as usual."""
    return lambda: Client(open_engine())


@pytest.mark.spec("FL-08")
def test_one_engine_works_at_a_time_and_the_other_takes_over(running):
    ran = {"first": [], "second": []}
    first, second = running(), running()

    def flow(who):
        return Desk(Do("A", lambda c, i: ran[who].append(c.flow_id) or graceful_complete()))

    first.start_flow(flow("first"), "a")
    first.wait_for_flow("a", timedelta(minutes=10))
    second.start_flow(flow("second"), "b")
    second.wait_for_flow("b", timedelta(minutes=10))
    assert ran == {"first": ["a", "b"], "second": []}
    first.close()
    second.start_flow(flow("second"), "c")
    second.wait_for_flow("c", timedelta(minutes=10))
    assert ran == {"first": ["a", "b"], "second": ["c"]}


@pytest.mark.spec("FL-08")
def test_no_handler_runs_twice_while_many_steps_come_and_go(running):
    """A look that is older than the end of an attempt must not start it again."""
    client = running()
    ran = []
    flow = Desk(
        Do("Start", lambda c, i: go_to_many(*(StepMovement.of("A", n) for n in range(100)))),
        Do("A", lambda c, i: ran.append(i) or graceful_complete()),
    )
    for flow_id in "abc":
        client.start_flow(flow, flow_id)
    for flow_id in "abc":
        client.wait_for_flow(flow_id, timedelta(minutes=10))
    assert sorted(ran) == sorted(list(range(100)) * 3)


@pytest.mark.spec("FL-08")
def test_idle_means_that_nothing_is_left_that_is_due(client, work):
    """The last look of the worker is not older than the last commit."""
    flow = Desk(Do("A", lambda c, i: go_to("A", i - 1) if i else dead_end()))
    for number in range(30):
        client.start_flow(flow, f"d{number}", 3)
        work()
        assert client.describe_flow(f"d{number}").pending_steps == 0


@pytest.mark.spec("FL-08")
def test_closing_ends_the_worker_though_handlers_wait_in_line(running):
    """What has begun may end and is kept; what has not is left for the next one; a handler is told to hurry."""
    client = running()
    begun, contexts = [], []
    hurry = Event()

    def execute(context, input):
        begun.append(input)
        contexts.append(context)
        if len(begun) == 8:
            hurry.set()
        while not context.is_cancellation_requested:
            Event().wait(0.001)
        N.set(context, 1)
        return graceful_complete()

    flow = Desk(
        Do("Start", lambda c, i: go_to_many(*(StepMovement.of("A", n) for n in range(50)))),
        Do("A", execute),
    )
    client.start_flow(flow, "d")
    assert hurry.wait(PATIENCE)
    client.close()
    assert len(begun) == 8
    again = running()
    assert (again.describe_flow("d").pending_steps, again.get_attributes("d")) == (50, {})
    assert [thread for thread in threading.enumerate() if thread.name.startswith("dex-")] == []


@pytest.mark.spec("FL-08")
def test_handlers_that_hang_do_not_hold_up_the_others(running, monkeypatch, caplog):
    """Each one that has run for long gets another thread in its place, up to a bound, and is told of once."""
    monkeypatch.setattr("dex.engine.flows.runtime.crew.LONG_SECONDS", 0.0)
    monkeypatch.setattr("dex.engine.flows.runtime.crew.MOST_THREADS", 20)
    monkeypatch.setattr("dex.engine.flows.runtime.worker.MOST_THREADS", 20)
    monkeypatch.setattr("dex.engine.flows.runtime.worker._TOLD_SECONDS", 0.0)
    client = running()
    inside, open_ = Semaphore(0), Event()

    def hang(context, input):
        inside.release()
        assert open_.wait(PATIENCE)
        return graceful_complete()

    hanging, quick = Desk(Do("A", hang), name="Hanging"), Desk(Do("A", done))
    for number in range(19):
        client.start_flow(hanging, f"h{number}")
    for _ in range(19):
        assert inside.acquire(timeout=PATIENCE)
    client.start_flow(quick, "d", 1)
    assert client.wait_for_flow("d", timedelta(minutes=10)).output == 1
    client.start_flow(hanging, "h19")
    assert inside.acquire(timeout=PATIENCE)
    client.start_flow(quick, "e", 1)
    while "20 handlers have been running for long: nothing else is worked before one ends" not in caplog.messages:
        Event().wait(0.001)
    assert client.describe_flow("e").status == "running"
    open_.set()
    assert client.wait_for_flow("e", timedelta(minutes=10)).output == 1
    for number in range(20):
        client.wait_for_flow(f"h{number}", timedelta(minutes=10))
    assert caplog.messages.count("Step A-1 of Flow 'h0' has been running for more than 0 s") == 1


@pytest.mark.spec("FL-08")
def test_a_handler_that_hangs_survives_a_fault_of_the_file(running, monkeypatch):
    """Others go on while it hangs, though the worker could not read the file for a moment."""
    monkeypatch.setattr("dex.engine.flows.runtime.worker._FAULT_SECONDS", 0.01)
    client = running()
    gate = Gate(lambda c: graceful_complete())
    client.start_flow(Desk(Do("A", gate), name="Hanging"), "h")
    assert gate.inside.wait(PATIENCE)
    worker = client.engine.flows.worker
    due, failed = worker._due, Event()

    def busy(keys):
        if not failed.is_set():
            failed.set()
            raise Unavailable("the file is busy", "try again")
        return due(keys)

    monkeypatch.setattr(worker, "_due", busy)
    client.start_flow(Desk(Do("A", done)), "d", 1)
    assert client.wait_for_flow("d", timedelta(minutes=10)).output == 1
    assert failed.is_set()
    gate.open.set()


@pytest.mark.spec("FL-08")
def test_a_handler_that_ends_while_the_client_closes_is_kept(running):
    client = running()
    gate = Gate(lambda c: graceful_complete(7))
    client.start_flow(Desk(Do("A", gate)), "d")
    assert gate.inside.wait(PATIENCE)
    closing = Aside(client.close)
    gate.open.set()
    closing.result()
    again = running()
    assert again.describe_flow("d").output == 7


@pytest.mark.spec("FL-08")
def test_a_worker_does_not_spin_where_nothing_is_due_for_it(running, monkeypatch):
    """Steps of types that it does not know, steps that wait, and steps that are under way."""
    client, stranger = running(), running()
    stranger.engine.flows.worker.start = lambda: None
    gate = Gate(lambda c: graceful_complete())
    stranger.start_flow(Desk(Do("A", done), name="Unknown"), "unknown")
    client.start_flow(Desk(Await("A", Wait.until(IN.for_one()), done), name="Waits"), "waits")
    client.start_flow(Desk(Do("A", gate)), "busy")
    assert gate.inside.wait(PATIENCE)
    client.execute(PageHistory(flow_id="waits", after=1, wait_ms=600_000))
    looks, enough = [], Event()
    due = steps.due

    def look(*arguments):
        looks.append(1)
        if len(looks) >= 3:
            enough.set()
        return due(*arguments)

    work = client.engine.flows.parts.work
    waits = []
    wait = work.wait
    monkeypatch.setattr(work, "wait", lambda seen, seconds: waits.append(seconds) or wait(seen, seconds))
    monkeypatch.setattr(steps, "due", look)
    assert enough.wait(PATIENCE)
    # Each look is followed by a wait that is not cut short.
    assert len(waits) >= len(looks) - 1
    assert min(waits) >= 0.05
    gate.open.set()
    client.wait_for_flow("busy", timedelta(minutes=10))
    assert client.describe_flow("unknown").status == "running"


@pytest.mark.spec("FL-08")
def test_a_fault_of_ours_in_one_attempt_does_not_end_the_work_of_the_others(client, work, monkeypatch, caplog):
    load = stepping.load

    def broken(connection, run, flow_type, access, step):
        if flow_type.name == "Broken":
            raise RuntimeError("a bug")
        return load(connection, run, flow_type, access, step)

    monkeypatch.setattr(stepping, "load", broken)
    monkeypatch.setattr("dex.engine.flows.runtime.worker._FAULT_SECONDS", 0.01)
    client.start_flow(Desk(Do("A", done), name="Broken"), "broken")
    client.start_flow(Desk(Do("A", done)), "d", 1)
    with pytest.raises(DexError, match="RuntimeError: a bug"):
        work()
    assert client.wait_for_flow("d", timedelta(0)).output == 1
    assert "a bug" in caplog.text


@pytest.mark.spec("FL-08")
def test_a_busy_file_stops_the_background_work_only_for_a_moment(running, monkeypatch):
    client = running()
    worker = client.engine.flows.worker
    monkeypatch.setattr("dex.engine.flows.runtime.worker._FAULT_SECONDS", 0.01)
    due, failed = worker._due, Event()

    def busy(keys):
        if not failed.is_set():
            failed.set()
            raise Unavailable("the file is busy", "try again")
        return due(keys)

    monkeypatch.setattr(worker, "_due", busy)
    client.start_flow(Desk(Do("A", done)), "d", 1)
    assert client.wait_for_flow("d", timedelta(minutes=10)).output == 1
    assert failed.is_set()


@pytest.mark.spec("FL-08")
def test_work_in_the_foreground_ends_once_others_leave_nothing(running):
    first, second = running(), running()
    first.start_flow(Desk(Do("A", done)), "d", 1)
    first.wait_for_flow("d", timedelta(minutes=10))
    second.engine.flows.parts.registry.register(Desk(Do("A", done)))
    second.engine.flows.worker.run(until_idle=True)
    assert [event.kind for event in history(second, "d")] == ["started", "step"]


@pytest.mark.spec("FL-08")
def test_work_in_the_foreground_tells_that_it_stands_by(running, caplog):
    """Once, and it ends when the other one has left nothing."""
    first, second = running(), running()
    gate = Gate(lambda context: graceful_complete())
    first.start_flow(Desk(Do("A", gate)), "d")
    first.engine.flows.worker.start()
    assert gate.inside.wait(PATIENCE)
    flows = second.engine.flows
    flows.parts.registry.register(Desk(Do("A", done)))
    standing = Aside(flows.worker.run, until_idle=True)
    until(lambda: "another process works the Flows of this data directory; this one stands by" in caplog.messages)
    gate.open.set()
    standing.result()
    assert len([message for message in caplog.messages if "stands by" in message]) == 1


@pytest.mark.spec("FL-08")
def test_steps_beyond_a_batch_that_cannot_go_on_do_not_hold_up_the_others(running):
    """Every lock is held; the steps that need none of them run all the same."""
    client = running()
    flow = Desk(Do("A", done, StepOptions(execute_lock_attributes=(N,))))
    free = Desk(Do("A", done), name="Free")
    gates = []
    for number in range(20):
        client.start_flow(flow, f"d{number}", options=StartFlowOptions(start_delay=timedelta(days=1)))
        gate = Gate()
        flow.does[f"gate{number}"] = gate
        gates.append((gate, Aside(client.invoke_rpc, flow.lock_n, f"d{number}", f"gate{number}")))
        assert gate.inside.wait(PATIENCE)
    client.engine.flows.parts.clock.advance(86_400_000)
    client.start_flow(free, "free", 1)
    assert client.wait_for_flow("free", timedelta(minutes=10)).output == 1
    for gate, call in gates:
        gate.open.set()
        call.result()


@pytest.mark.spec("FL-08")
def test_a_worker_that_came_before_the_file_begins_with_the_first_commit(running, monkeypatch):
    """It waits for the file, and takes its absence for no fault."""
    monkeypatch.setattr("dex.engine.flows.runtime.worker._FAULT_SECONDS", PATIENCE)
    client = running()
    client.register(Desk(Do("A", done)))
    client.engine.flows.worker.run(until_idle=True)
    assert not client.engine.path.parent.exists()
    client.start_flow(Desk(Do("A", done)), "d", 1)
    assert client.wait_for_flow("d", timedelta(minutes=10)).output == 1


_WORK = """
import sys, threading
from dex import Flow, Step, StepList, Attribute, PersistenceSchema, graceful_complete, dead_end, connect
N = Attribute("N", int)
class A(Step[int]):
    def execute(self, context, input):
        print("inside", flush=True)
        if sys.argv[2] == "hang":
            threading.Event().wait()
        N.set(context, input)
        return graceful_complete(input)
class Job(Flow[int]):
    def get_persistence_schema(self):
        return PersistenceSchema.of(N)
    def get_steps(self):
        return StepList.start_step(A)
client = connect(sys.argv[1])
client.register(Job)
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "end":
        break
    if line.strip() == "close":
        client.close()
        break
    client.start_flow(Job, line.strip(), 3)
"""


@pytest.mark.spec("FL-08")
def test_a_standby_goes_on_where_a_killed_process_was(data_dir):
    """The system releases the dead one's lock; its attempt left nothing behind and is run again."""
    with Child(_WORK, data_dir, "hang") as first:
        assert first.hear() == "ready"
        first.say("a")
        assert first.hear() == "inside"
        with Child(_WORK, data_dir, "run") as second, connect(data_dir) as client:
            assert second.hear() == "ready"
            assert client.describe_flow("a").pending_steps == 1
            first.signal(signal.SIGKILL)
            assert second.hear() == "inside"
            client.engine.flows.worker.start = lambda: None
            result = client.wait_for_flow("a")
            assert (result.status, result.output) == ("completed", 3)
            assert client.get_attributes("a") == {"N": 3}
            second.say("close")
            assert second.end() == []


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize("end", ["end", "close"])
def test_a_program_that_ends_while_it_works_ends_quietly(data_dir, end):
    """Also one that never closes its client."""
    with Child(_WORK, data_dir, "run") as child:
        assert child.hear() == "ready"
        for number in range(40):
            child.say(f"f{number}")
        child.say(end)
        child.end()


_END = """
import sys, threading
from dex import Flow, PersistenceSchema, Step, StepList, connect, graceful_complete
inside = threading.Event()
class A(Step[None]):
    def execute(self, context, input):
        inside.set()
        while threading.main_thread().is_alive():
            threading.Event().wait(0.001)
        return graceful_complete(5)
class Job(Flow[None]):
    def get_persistence_schema(self):
        return PersistenceSchema.of()
    def get_steps(self):
        return StepList.start_step(A)
connect(sys.argv[1]).start_flow(Job, "a")
inside.wait()
"""


@pytest.mark.spec("FL-08")
def test_a_handler_that_ends_with_its_program_is_kept(data_dir):
    """A program that never closes its client waits a moment for it, too."""
    with Child(_END, data_dir) as child:
        assert child.end() == []
    with connect(data_dir) as client:
        assert client.describe_flow("a").output == 5
