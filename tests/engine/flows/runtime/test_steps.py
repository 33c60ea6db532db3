"""Steps: decisions, retries, timeouts, failures, and going on after a crash (spec: FL-08)."""

import sys
from datetime import UTC, datetime, timedelta

import pytest

from dex import (
    ChannelCondition,
    Refused,
    RetryPolicy,
    RPCResult,
    StartFlowOptions,
    StepMovement,
    StepOptions,
    Wait,
    dead_end,
    force_complete,
    force_complete_if_channels_empty,
    force_fail,
    go_to,
    go_to_many,
    graceful_complete,
    retry_after,
)
from dex.engine.flows.step import WaitForFailure
from dex.wcl.commands.flows import GetFlowState, ListMessages
from tests.engine.flows.runtime.conftest import INSIDE, history
from tests.engine.flows.runtime.desk import IN, OTHER, OUT, Aside, Await, Desk, Do, Gate, N, get, inside

ONCE = RetryPolicy(maximum_attempts=1)


class Mute(Exception):
    """An exception whose own code fails when its text is asked for."""

    def __str__(self):
        raise RuntimeError("no text")


class Unmade(Refused):
    """An error of ours that was never initialised."""

    def __init__(self, what):
        self.what = what


def done(context, input):
    return graceful_complete(input)


def state(client, flow_id="d"):
    return client.execute(GetFlowState(flow_id=flow_id))


def open_steps(client):
    return [(step.step_execution_id, step.status) for step in state(client).steps]


@pytest.mark.spec("FL-08")
def test_go_to_hands_the_input_on_and_counts_executions_by_type(client, work, kinds):
    seen = []

    def execute(context, input):
        seen.append((context.step_execution_id, input, context.attempt, context.flow_id))
        return go_to("A", input + 1) if input < 3 else graceful_complete(input)

    client.start_flow(Desk(Do("A", execute)), "d", 1)
    work()
    assert seen == [("A-1", 1, 1, "d"), ("A-2", 2, 1, "d"), ("A-3", 3, 1, "d")]
    result = client.wait_for_flow("d")
    assert (result.status, result.output, result.error) == ("completed", 3, None)
    assert kinds("d") == ["started", "step", "step", "step"]


@pytest.mark.spec("FL-08", "FL-06")
def test_all_effects_of_a_step_are_one_commit(client, work, stored):
    def execute(context, input):
        N.set(context, input)
        OUT.publish(context, "hello")
        context.record_event("noted", {"at": input})
        return go_to("B", None)

    client.start_flow(Desk(Do("A", execute), Await("B", lambda c, i: Wait.until(IN.for_one()), done)), "d", 4)
    before = len(stored()["journal"])
    work()
    assert len(stored()["journal"]) == before + 2
    event = history(client, "d")[1]
    assert (event.kind, event.attributes, event.detail["step"]) == ("step", ["N"], "A-1")
    assert event.detail["events"] == [["noted", {"at": 4}]]
    assert (event.detail["outcome"], event.detail["steps"], event.detail["published"]) == ("completed", ["B-1"], 1)
    assert client.get_attributes("d") == {"N": 4}
    assert open_steps(client) == [("B-1", "waiting")]


@pytest.mark.spec("FL-08")
def test_graceful_completion_waits_for_every_thread_and_gives_the_last_output(client, work, clock):
    waiting = Await("Slow", lambda c, i: Wait.until(IN.for_one()), lambda c, i: dead_end())
    both = Do("A", lambda c, i: go_to_many(StepMovement.of("Fast", 1), StepMovement.of("Slow")))
    client.start_flow(Desk(both, Do("Fast", done), waiting), "d")
    work()
    assert client.describe_flow("d").status == "running"
    client.publish(IN, "d", 5)
    work()
    result = client.wait_for_flow("d")
    assert (result.status, result.output) == ("completed", 1)


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize(
    ("decision", "status", "output", "error"),
    [(force_complete(7), "completed", 7, None), (force_fail("no stock"), "failed", None, "no stock")],
)
def test_forced_ends_cancel_other_threads(client, work, decision, status, output, error):
    waiting = Await("Slow", lambda c, i: Wait.until(IN.for_one()), done)
    both = Do("A", lambda c, i: go_to_many(StepMovement.of("Slow"), StepMovement.of("End")))
    client.start_flow(Desk(both, waiting, Do("End", lambda c, i: decision)), "d")
    work()
    result = client.wait_for_flow("d")
    assert (result.status, result.output, result.error) == (status, output, error)
    assert open_steps(client) == []


@pytest.mark.spec("FL-08")
def test_a_dead_end_leaves_the_flow_open(client, work):
    flow = Desk(Do("A", lambda c, i: dead_end()), Do("B", done))
    client.start_flow(flow, "d")
    work()
    assert (client.describe_flow("d").status, open_steps(client)) == ("running", [])
    flow.does["go"] = lambda context: RPCResult(None, (StepMovement.of("B", 2),))
    client.invoke_rpc(flow.call, "d", "go")
    work()
    assert client.wait_for_flow("d").output == 2


@pytest.mark.spec("FL-08", "FL-12")
def test_an_output_of_any_kind_is_kept_and_shown(client, work):
    client.start_flow(Desk(Do("A", done)), "d", {1: [b"x", None]})
    work()
    assert client.wait_for_flow("d").output == {"1": [{"bytes": "eA=="}, None]}
    assert history(client, "d")[-1].detail["output"] == {"1": [{"bytes": "eA=="}, None]}


@pytest.mark.spec("FL-08")
def test_completing_if_channels_are_empty_judges_at_the_commit(client, work):
    """Messages that the same step publishes count, those it deletes do not; the fallback goes on with both."""

    def execute(context, input):
        for message in IN.pending_messages(context):
            IN.delete(context, message.message_id)
        if input:
            OUT.publish(context, "late")
        return force_complete_if_channels_empty("empty", StepMovement.of("B", "left"))

    flow = Desk(Do("A", execute, StepOptions(execute_load_channels=(IN,))), Do("B", done))
    for flow_id, publishes, output in (("d", False, "empty"), ("e", True, "left")):
        client.start_flow(flow, flow_id, publishes)
        client.publish(IN, flow_id, 1, 2)
        work()
        assert client.wait_for_flow(flow_id).output == output


@pytest.mark.spec("FL-08")
def test_fallbacks_nest_and_may_fail_the_flow(client, work):
    nested = force_complete_if_channels_empty(1, force_complete_if_channels_empty(2, force_fail("not empty")))
    client.start_flow(Desk(Do("A", lambda c, i: nested)), "d")
    client.publish(IN, "d", 1)
    work()
    assert (client.wait_for_flow("d").status, client.wait_for_flow("d").error) == ("failed", "not empty")


@pytest.mark.spec("FL-08")
def test_retries_back_off_and_tell_the_attempt_and_when_the_first_began(client, work, clock):
    began = clock.ms
    seen = []

    def execute(context, input):
        seen.append((context.attempt, clock.ms - began, context.first_attempt_at))
        if context.attempt < 5:
            N.set(context, 99)
            raise ValueError("not yet")
        return graceful_complete(get(context, N, None))

    policy = RetryPolicy(timedelta(seconds=1), 2.0, timedelta(seconds=3), maximum_attempts=5)
    client.start_flow(Desk(Do("A", execute, StepOptions(execute_retry=policy))), "d")
    for half in [999, 1] * 6:
        work()
        clock.advance(half)
    work()
    first = datetime.fromtimestamp(began / 1000, UTC)
    assert seen == [(1, 0, first), (2, 1000, first), (3, 3000, first), (4, 6000, first)]
    assert "not yet" in state(client).steps[0].last_error
    clock.advance(3000)
    work()
    assert client.wait_for_flow("d").output is None
    assert [event.detail["outcome"] for event in history(client, "d")[1:]] == ["retry"] * 4 + ["completed"]


@pytest.mark.spec("FL-08")
def test_exhausted_retries_fail_the_flow_with_the_handlers_error(client, work, clock):
    def execute(context, input):
        raise ValueError(f"bad {input}")

    options = StepOptions(execute_retry=RetryPolicy(timedelta(seconds=1), maximum_attempts=3))
    client.start_flow(Desk(Do("A", execute, options)), "d", 6)
    for _ in range(3):
        work()
        clock.advance(10_000)
    result = client.wait_for_flow("d")
    assert result.status == "failed"
    assert "A-1" in result.error
    assert "ValueError: bad 6" in result.error
    step = client.wait_for_step_completion("d", "A")
    assert (step.status, "bad 6" in step.error) == ("failed", True)


@pytest.mark.spec("FL-08")
def test_retries_end_after_their_total_duration(client, work, clock):
    attempts = []
    policy = RetryPolicy(timedelta(seconds=1), 1.0, total_duration=timedelta(seconds=3))
    options = StepOptions(execute_retry=policy)
    client.start_flow(Desk(Do("A", lambda c, i: attempts.append(c.attempt) or 1 / 0, options)), "d")
    for _ in range(6):
        work()
        clock.advance(1000)
    assert attempts == [1, 2, 3, 4]
    assert client.wait_for_flow("d").status == "failed"


@pytest.mark.spec("FL-08")
def test_steps_without_a_policy_use_that_of_the_start(client, work):
    client.start_flow(Desk(Do("A", lambda c, i: 1 / 0)), "d", options=StartFlowOptions(retry_policy=ONCE))
    work()
    assert client.wait_for_flow("d").status == "failed"


@pytest.mark.spec("FL-08")
def test_retry_after_names_the_delay_whatever_the_policy_says(client, work, clock):
    def execute(context, input):
        return graceful_complete(context.attempt) if context.attempt > 2 else retry_after(timedelta(minutes=10))

    client.start_flow(Desk(Do("A", execute, StepOptions(execute_retry=ONCE))), "d")
    for _ in range(2):
        work()
        clock.advance(599_999)
        work()
        assert client.describe_flow("d").status == "running"
        clock.advance(1)
    work()
    assert client.wait_for_flow("d").output == 3


@pytest.mark.spec("FL-08")
def test_a_recovery_step_takes_over_with_the_input_and_the_reason(client, work):
    def fail(context, input):
        N.set(context, 5)
        raise ValueError("broken")

    def recover(context, input):
        assert context.recovery_error is not None
        return graceful_complete([input, "broken" in context.recovery_error, get(context, N, "unset")])

    options = StepOptions(execute_retry=ONCE).on_execute_failure_proceed_to("Recover")
    client.start_flow(Desk(Do("A", fail, options), Do("Recover", recover)), "d", 8)
    work()
    assert client.wait_for_flow("d").output == [8, True, "unset"]


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize(
    ("policy", "status"), [(WaitForFailure.FAIL_FLOW, "failed"), (WaitForFailure.PROCEED, "completed")]
)
def test_a_wait_that_fails_for_good_fails_the_flow_or_is_skipped(client, work, clock, policy, status):
    attempts = []
    retry = RetryPolicy(timedelta(seconds=1), maximum_attempts=2)
    options = StepOptions(wait_for_failure=policy, wait_for_retry=retry)
    client.start_flow(Desk(Await("A", lambda c, i: attempts.append(1) or 1 / 0, done, options)), "d", 1)
    work()
    clock.advance(1000)
    work()
    assert len(attempts) == 2
    assert client.wait_for_flow("d").status == status


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize(
    "wrong",
    [
        None,
        Wait.skip_immediately(),
        lambda c, i: sys.exit(2),
        lambda c, i: (_ for _ in ()).throw(KeyboardInterrupt),
        lambda c, i: OUT.delete(c, "x") or graceful_complete(),
        lambda c, i: OUT.delete(c, "5") or graceful_complete(),
        lambda c, i: c.record_event("\ud800") or graceful_complete(),
        lambda c, i: (_ for _ in ()).throw(OSError("caf\udce9")),
        lambda c, i: (_ for _ in ()).throw(Mute),
        lambda c, i: (_ for _ in ()).throw(Unmade("x")),
        lambda c, i: force_fail("\ud800"),
        lambda c, i: force_fail(Mute()),
        lambda c, i: graceful_complete(object()),
        lambda c, i: go_to("Nowhere"),
        lambda c, i: go_to("A", object()),
    ],
)
def test_whatever_a_handler_does_wrong_is_its_failure_and_harms_nobody_else(client, work, wrong):
    handler = wrong if callable(wrong) else lambda c, i: wrong
    client.start_flow(Desk(Do("A", handler, StepOptions(execute_retry=ONCE))), "d")
    client.start_flow(Desk(Do("A", done), name="Bench"), "e", 1)
    work()
    assert client.wait_for_flow("d").status == "failed"
    assert client.wait_for_flow("e").output == 1


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize(
    "wrong",
    [
        None,
        graceful_complete(),
        Wait((5,), ((0,),)),
        Wait((object(),), ((0,),)),
        Wait((ChannelCondition("In", condition_id=5),), ((0,),)),
        lambda c, i: Wait.until(5),
        lambda c, i: Wait.until(type(IN)("Undeclared", int).for_one()),
        lambda c, i: c.set_step_execution_local("x", object()),
    ],
)
def test_a_wait_that_cannot_be_is_the_handlers_failure(client, work, wrong):
    handler = wrong if callable(wrong) else lambda c, i: wrong
    client.start_flow(Desk(Await("A", handler, done, StepOptions(wait_for_retry=ONCE))), "d")
    work()
    assert client.wait_for_flow("d").status == "failed"


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize("where", ["wait_for", "execute"])
def test_a_method_that_overruns_is_tried_again_and_keeps_nothing(client, work, where):
    gate = Gate(lambda context: N.set(context, 1))
    contexts = []

    def slow(context, input):
        contexts.append(context)
        return gate(context)

    timeout = timedelta(milliseconds=50)
    if where == "execute":
        options = StepOptions(execute_method_timeout=timeout, execute_retry=ONCE)
        flow = Desk(Do("A", slow, options))
    else:
        flow = Desk(Await("A", slow, done, StepOptions(wait_for_method_timeout=timeout, wait_for_retry=ONCE)))
    client.start_flow(flow, "d")
    work()
    gate.open.set()
    result = client.wait_for_flow("d")
    assert (result.status, "0.05 s" in result.error) == ("failed", True)
    assert contexts[0].is_cancellation_requested
    assert client.get_attributes("d") == {}


@pytest.mark.spec("FL-08")
def test_a_step_that_a_stop_overtakes_is_told_and_keeps_nothing(client, work):
    told = []

    def execute(context, input):
        told.append(context.is_cancellation_requested)
        client.stop_flow("d")
        told.append(context.is_cancellation_requested)
        N.set(context, 1)
        return graceful_complete()

    client.start_flow(Desk(Do("A", execute)), "d")
    work()
    assert told == [False, True]
    assert client.get_attributes("d") == {}
    assert client.describe_flow("d").status == "canceled"


@pytest.mark.spec("FL-08")
def test_step_locals_are_kept_from_the_wait_to_the_execute_and_its_retries(client, work, clock):
    def wait(context, input):
        context.set_step_execution_local("asked", {"cents": 3})
        return Wait.skip_immediately()

    def execute(context, input):
        if context.attempt == 1:
            context.set_step_execution_local("asked", "lost")
            raise ValueError
        return go_to("B", context.get_step_execution_local("asked"))

    def other(context, input):
        with pytest.raises(KeyError):
            context.get_step_execution_local("asked")
        return graceful_complete(input)

    client.start_flow(Desk(Await("A", wait, execute), Do("B", other)), "d")
    work()
    clock.advance(1000)
    work()
    assert client.wait_for_flow("d").output == {"cents": 3}


@pytest.mark.spec("FL-07", "FL-08")
def test_a_lock_that_is_held_delays_a_step_and_counts_as_no_attempt(client, work):
    attempts = []
    options = StepOptions(execute_lock_attributes=(N,), execute_retry=ONCE)

    def execute(context, input):
        attempts.append(context.attempt)
        return graceful_complete(N.get(context))

    flow = Desk(Do("A", execute, options))
    client.start_flow(flow, "d")
    with inside(client, flow.lock_n, "d", lambda c: N.set(c, 7)):
        worker = Aside(work)
        worker.join(0.1)
        assert (worker.is_alive(), attempts) == (True, [])
    worker.result()
    assert attempts == [1]
    assert client.wait_for_flow("d").output == 7


@pytest.mark.spec("FL-07", "FL-08")
def test_a_step_whose_locked_attribute_another_process_writes_runs_again_as_the_same_attempt(client, work, another):
    attempts = []
    options = StepOptions(execute_lock_attributes=(N,), execute_retry=ONCE)
    other = another()

    def execute(context, input):
        attempts.append(context.attempt)
        value = get(context, N, 0)
        if len(attempts) == 1:
            other.set_attribute(N, "d", 1)
        N.set(context, value + 10)
        return graceful_complete()

    flow = Desk(Do("A", execute, options))
    client.start_flow(flow, "d")
    other.register(flow)
    work()
    assert attempts == [1, 1]
    assert client.get_attribute(N, "d") == 11


@pytest.mark.spec("FL-08")
@INSIDE
def test_another_worker_goes_on_from_the_last_commit(client, work, another, open_engine):
    """A process ends between two steps: what was committed is not run again."""
    ran = []

    def first(context, input):
        ran.append("A")
        OTHER.set(context, "from A")
        client.engine.flows.worker._stopping.set()
        return go_to("B", 1)

    flow = Desk(Do("A", first), Do("B", lambda c, i: ran.append("B") or graceful_complete(OTHER.get(c))))
    client.start_flow(flow, "d")
    work()
    client.close()
    again = another()
    again.register(flow)
    again.engine.flows.worker.run(until_idle=True)
    assert ran == ["A", "B"]
    assert again.wait_for_flow("d").output == "from A"


@pytest.mark.spec("FL-08")
def test_a_step_that_the_code_does_not_have_any_more_waits_for_code_that_has(client, work, clock, another):
    """An older version of the code must not fail what a newer one began."""
    newer, older = Desk(Do("A", done), Do("B", done)), Desk(Do("A", done))
    newer.does["go"] = lambda context: RPCResult(None, [StepMovement.of("B", 5)])
    newer.starts = False
    client.start_flow(newer, "d")
    client.invoke_rpc(newer.call, "d", "go")
    client.register(older)
    work()
    (step,) = state(client).steps
    assert (step.step_execution_id, step.status, "no Step B" in step.last_error) == ("B-1", "ready", True)
    assert client.describe_flow("d").status == "running"
    clock.advance(1000)
    client.register(newer)
    work()
    assert client.wait_for_flow("d").output == 5


@pytest.mark.spec("FL-08")
def test_a_clock_that_is_set_back_neither_stalls_steps_nor_hurries_retries(client, work, clock):
    ran = []

    def execute(context, input):
        ran.append(context.attempt)
        return graceful_complete() if context.attempt == 2 else retry_after(timedelta(hours=1))

    flow = Desk(Do("A", execute))
    client.start_flow(flow, "e")
    clock.advance(-3_600_000)
    client.start_flow(flow, "d")
    work()
    assert ran == [1, 1]
    clock.advance(3_600_000)
    work()
    assert ran == [1, 1]
    clock.advance(3_600_000)
    work()
    assert ran == [1, 1, 2, 2]


@pytest.mark.spec("FL-08")
def test_a_huge_delay_is_kept_as_the_last_moment_there_is(client, work):
    client.start_flow(Desk(Do("A", lambda c, i: retry_after(timedelta.max))), "d")
    work()
    assert state(client).steps[0].due_at.startswith("9999-12-31T23:59:59")


@pytest.mark.spec("FL-06", "FL-08")
def test_a_step_sees_messages_that_its_options_load(client, work):
    def execute(context, input):
        return graceful_complete([message.value for message in IN.pending_messages(context)])

    client.start_flow(Desk(Do("A", execute, StepOptions(execute_load_channels=(IN,)))), "d")
    client.publish(IN, "d", 3, 4)
    work()
    assert client.wait_for_flow("d").output == [3, 4]
    assert len(client.execute(ListMessages(flow_id="d", channel="In")).messages) == 2
