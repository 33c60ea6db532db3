"""Time travel: a new run with what an old one held right after one of its events (spec: FL-13)."""

from datetime import UTC, datetime, timedelta

import pytest

from dex import (
    StartFlowOptions,
    StepMovement,
    Timer,
    TimeTravelOptions,
    Wait,
    dead_end,
    go_to,
    go_to_many,
    graceful_complete,
)
from dex.wcl.commands.flows import Event, GetFlowState, ListMessages, PurgeFlow, Time, TimeTravel
from dex.wcl.errors import FailedPrecondition, FlowNotFoundError, NotFound
from tests.engine.flows.runtime.conftest import history
from tests.engine.flows.runtime.desk import IN, OTHER, OUT, SECRET, Await, Desk, Do, Item, N, get


def open_steps(client, flow_id="d"):
    state = client.execute(GetFlowState(flow_id=flow_id))
    return [(step.step_execution_id, step.status, step.due_at) for step in state.steps]


def pending(client, channel="In"):
    return [message.value for message in client.execute(ListMessages(flow_id="d", channel=channel)).messages]


@pytest.mark.spec("FL-13")
def test_a_new_run_takes_over_and_the_old_one_is_terminated(client):
    old = client.start_flow(Desk(), "d", Item("in"), StartFlowOptions(timeout=timedelta(hours=1), request_id="r"))
    client.update_flow_config("d", ["orders"])
    new = client.time_travel("d", TimeTravelOptions.to_beginning("a bug", old))
    assert new != old
    described = client.describe_flow("d")
    assert (described.run_id, described.status, described.previous_run_id) == (new, "running", old)
    assert (described.input, described.attribute_stores) == ({"name": "in", "cents": 0}, ["orders"])
    assert described.timeout_at == "2023-11-14T23:13:20.000Z"
    before = client.describe_flow("d", old)
    assert (before.status, before.error) == ("terminated", "time travel: a bug")
    event = history(client, "d")[0]
    assert (event.number, event.kind) == (1, "traveled")
    assert event.detail == {"from_run": old, "event": 1, "reason": "a bug"}
    assert client.start_flow(Desk(), "d", options=StartFlowOptions(request_id="r")) == old


@pytest.mark.spec("FL-13")
def test_every_event_can_be_gone_back_to_with_the_attributes_of_then(client):
    """Values, instances and deletions, from one run of many to the next."""
    client.start_flow(Desk(), "d", options=StartFlowOptions().with_attribute(N, 0))
    moments = [client.get_attributes("d")]
    changes = [
        {"N": 1, "Items/a": Item("a")},
        {"Items/b/c": Item("b"), "Other": [1]},
        {"N": None, "Items/a": Item("a", 2)},
        {"Items/a": None, "Other": None},
        {"N": 5, "Items/a": Item("again")},
    ]
    for change in changes:
        client.set_attributes("d", change)
        moments.append(client.get_attributes("d"))
    run_id = client.describe_flow("d").run_id
    for number, moment in enumerate(moments, 1):
        client.stop_flow("d")
        client.time_travel("d", TimeTravelOptions.to_event(number, run_id=run_id))
        assert client.get_attributes("d") == moment
    client.set_attributes("d", {"N": 7})
    client.time_travel("d", TimeTravelOptions.to_event(1))
    assert client.get_attributes("d") == moments[-1]


@pytest.mark.spec("FL-13")
def test_time_goes_to_the_last_event_of_then(client, clock):
    client.start_flow(Desk(), "d")
    for number in (1, 2):
        clock.advance(1003)
        client.set_attributes("d", {"N": number})
    at = datetime.fromtimestamp(clock.ms // 1000, UTC) + timedelta(milliseconds=clock.ms % 1000)
    run_id = client.describe_flow("d").run_id
    with pytest.raises(NotFound):
        client.time_travel("d", TimeTravelOptions.to_time(at - timedelta(hours=1)))
    client.time_travel("d", TimeTravelOptions.to_time(at))
    assert client.get_attributes("d") == {"N": 2}
    client.stop_flow("d")
    client.time_travel("d", TimeTravelOptions.to_time(at - timedelta(milliseconds=1), run_id=run_id))
    assert client.get_attributes("d") == {"N": 1}


def chain():
    """Three steps that each count; B is executed twice."""

    def count(follow):
        def execute(context, input):
            N.set(context, get(context, N, 0) + 1)
            return follow(input)

        return execute

    return Desk(
        Do("A", count(lambda i: go_to("B", 10))),
        Do("B", count(lambda i: go_to("B", 11) if i == 10 else go_to("C", 12))),
        Do("C", count(graceful_complete)),
    )


@pytest.mark.spec("FL-13")
@pytest.mark.parametrize(
    ("target", "before", "ran"),
    [
        (TimeTravelOptions.to_beginning(), {}, ["A-1", "B-1", "B-2", "C-1"]),
        (TimeTravelOptions.to_step_type("B"), {"N": 1}, ["B-1", "B-2", "C-1"]),
        (TimeTravelOptions.to_step_execution("B-2"), {"N": 2}, ["B-2", "C-1"]),
        (TimeTravelOptions.to_step_type("C"), {"N": 3}, ["C-1"]),
    ],
)
def test_steps_go_on_from_where_they_were(client, work, target, before, ran):
    client.start_flow(chain(), "d")
    work()
    assert client.wait_for_flow("d").status == "completed"
    client.time_travel("d", target)
    assert client.get_attributes("d") == before
    work()
    assert client.wait_for_flow("d").output == 12
    assert client.get_attributes("d") == {"N": 4}
    assert [event.detail["step"] for event in history(client, "d")[1:]] == ran


@pytest.mark.spec("FL-13")
@pytest.mark.parametrize("target", ["step C-1", "B-3", "event", "event 0", "huge", "X-" + "9" * 40])
def test_what_the_run_never_had_is_no_place_to_go_back_to(client, work, stored, target):
    client.start_flow(chain(), "d")
    before = stored()
    options = {
        "event": TimeTravelOptions.to_event(9),
        "event 0": TimeTravelOptions.to_event(0),
        "huge": TimeTravelOptions.to_event(2**62),
    }.get(target) or TimeTravelOptions.to_step_execution(target)
    with pytest.raises(NotFound):
        client.time_travel("d", options)
    for huge in (Event(2**70), Time(-(2**62))):
        with pytest.raises(NotFound):
            client.execute(TimeTravel(flow_id="d", run_id=None, to=huge, reason=""))
    with pytest.raises(FlowNotFoundError):
        client.time_travel("e", TimeTravelOptions.to_beginning())
    assert stored() == before


@pytest.mark.spec("FL-13", "FL-09")
def test_messages_are_those_that_were_pending(client, work):
    flow = Desk()
    client.start_flow(flow, "d")
    first, *_ = client.publish(IN, "d", 1, 2)
    client.publish(OUT, "d", "o")
    flow.does["delete"] = lambda context: IN.delete(context, first)
    client.invoke_rpc(flow.call, "d", "delete")
    run_id = client.describe_flow("d").run_id
    for event, expected in ((4, ([2], ["o"])), (3, ([1, 2], ["o"])), (2, ([1, 2], [])), (1, ([], []))):
        client.stop_flow("d")
        client.time_travel("d", TimeTravelOptions.to_event(event, run_id=run_id))
        assert (pending(client), pending(client, "Out")) == expected
        client.publish(IN, "d", 9)
        assert pending(client) == [*expected[0], 9]


def waiter():
    def execute(context, input):
        kept = context.get_step_execution_local("k")
        return graceful_complete([IN.results(context), context.has_timer_fired(0), kept])

    def wait(context, input):
        context.set_step_execution_local("k", "kept")
        N.set(context, get(context, N, 0) + 1)
        return Wait.any_of(IN.for_n(2), Timer.by_duration(timedelta(minutes=1)))

    return Desk(Await("A", wait, execute))


@pytest.mark.spec("FL-13", "FL-08")
def test_a_step_that_waited_then_waits_on_since_then(client, work, clock):
    """Its wait_for is not run again: what it did is in the attributes already."""
    client.start_flow(waiter(), "d")
    work()
    client.publish(IN, "d", 1)
    clock.advance(30_000)
    client.publish(IN, "d", 2)
    work()
    assert client.wait_for_flow("d").output == [[1, 2], False, "kept"]
    client.time_travel("d", TimeTravelOptions.to_event(3))
    assert open_steps(client) == [("A-1", "waiting", "2023-11-14T22:14:20.000Z")]
    assert (pending(client), client.get_attributes("d")) == ([1], {"N": 1})
    work()
    assert client.describe_flow("d").status == "running"
    clock.advance(30_000)
    work()
    assert client.wait_for_flow("d").output == [[], True, "kept"]
    assert client.get_attributes("d") == {"N": 1}


@pytest.mark.spec("FL-13", "FL-08")
def test_a_step_whose_wait_was_over_keeps_what_it_had_consumed(client, work, clock):
    client.start_flow(waiter(), "d")
    work()
    client.publish(IN, "d", 1, 2, 3)
    work()
    client.time_travel("d", TimeTravelOptions.to_event(3))
    assert [step[:2] for step in open_steps(client)] == [("A-1", "ready")]
    assert pending(client) == [3]
    work()
    assert client.wait_for_flow("d").output == [[1, 2], False, "kept"]
    assert client.get_attributes("d") == {"N": 1}


@pytest.mark.spec("FL-13", "FL-08")
def test_a_step_from_before_its_wait_waits_anew(client, work, clock):
    client.start_flow(waiter(), "d")
    work()
    clock.advance(60_000)
    work()
    client.time_travel("d", TimeTravelOptions.to_step_type("A"))
    assert client.get_attributes("d") == {}
    work()
    assert open_steps(client) == [("A-1", "waiting", "2023-11-14T22:15:20.000Z")]
    client.publish(IN, "d", 1, 2)
    work()
    assert client.wait_for_flow("d").output == [[1, 2], False, "kept"]


@pytest.mark.spec("FL-13", "FL-08")
def test_a_graceful_end_that_was_asked_for_then_still_holds(client, work):
    flow = Desk(
        Do("Start", lambda c, i: go_to_many(StepMovement.of("A"), StepMovement.of("Wait"))),
        Do("A", lambda c, i: graceful_complete({1: "out"})),
        Await("Wait", Wait.until(IN.for_one()), lambda c, i: dead_end()),
    )
    client.start_flow(flow, "d")
    work()
    run_id = client.describe_flow("d").run_id
    for event in (4, 1):
        client.time_travel("d", TimeTravelOptions.to_event(event))
    client.publish(IN, "d", 1)
    work()
    assert client.wait_for_flow("d").output == {"1": "out"}
    client.time_travel("d", TimeTravelOptions.to_step_type("A", run_id=run_id))
    client.publish(IN, "d", 1)
    work()
    assert client.wait_for_flow("d").output == {"1": "out"}


@pytest.mark.spec("FL-13")
def test_retries_begin_anew(client, work, clock):
    seen = []

    def execute(context, input):
        seen.append((context.attempt, context.first_attempt_at))
        raise ValueError

    client.start_flow(Desk(Do("A", execute)), "d")
    work()
    clock.advance(1000)
    work()
    client.time_travel("d", TimeTravelOptions.to_event(2))
    clock.advance(1)
    work()
    assert [attempt for attempt, _ in seen] == [1, 2, 1]
    assert seen[2][1] > seen[0][1]


@pytest.mark.spec("FL-13", "FL-16")
def test_a_moment_whose_values_were_erased_is_gone(client, stored):
    run_id = client.start_flow(Desk(), "d", options=StartFlowOptions().with_attribute(SECRET, "s"))
    client.set_attributes("d", {"N": 1, "Secret": None})
    client.set_attributes("d", {"Secret": "t"})
    client.stop_flow("d")
    client.set_attributes("d", {"Secret": None})
    before = stored()
    for event in (1, 3, 4):
        with pytest.raises(FailedPrecondition, match="Secret"):
            client.time_travel("d", TimeTravelOptions.to_event(event))
    assert stored() == before
    client.time_travel("d", TimeTravelOptions.to_event(2, run_id=run_id))
    assert client.get_attributes("d") == {"N": 1}
    client.stop_flow("d")
    client.time_travel("d", TimeTravelOptions.to_event(5, run_id=run_id))
    assert client.get_attributes("d") == {"N": 1}


@pytest.mark.spec("FL-13")
def test_a_flow_id_never_has_two_running_runs(client, stored):
    old = client.start_flow(Desk(), "d")
    client.stop_flow("d")
    client.start_flow(Desk(), "d")
    before = stored()
    with pytest.raises(FailedPrecondition):
        client.time_travel("d", TimeTravelOptions.to_beginning(run_id=old))
    assert stored() == before


@pytest.mark.spec("FL-13", "FL-16")
def test_the_new_run_stands_on_its_own_when_the_old_one_is_purged(client, work, settle):
    flow = waiter()
    old = client.start_flow(flow, "d", options=StartFlowOptions().with_attribute(OTHER, "kept"))
    work()
    client.publish(IN, "d", 1, 2)
    client.time_travel("d", TimeTravelOptions.to_event(3, run_id=old))
    client.execute(PurgeFlow(flow_id="d", run_id=old))
    settle()
    work()
    assert client.wait_for_flow("d").output == [[1, 2], False, "kept"]
    assert client.get_attributes("d") == {"N": 1, "Other": "kept"}


@pytest.mark.spec("FL-13")
@pytest.mark.parametrize(
    ("options", "place"),
    [
        (TimeTravelOptions.to_event(99), "has no event:99"),
        (TimeTravelOptions.to_time(datetime(2020, 1, 1, tzinfo=UTC)), "has no event up to 2020-01-01T00:00:00.000Z"),
        (TimeTravelOptions.to_step_type("Pakc"), "has no step:Pakc; did you mean Pack"),
        (TimeTravelOptions.to_step_execution("A-7"), "has no step-execution:A-7"),
    ],
)
def test_a_place_that_is_not_there_is_told_as_it_is_written(client, options, place):
    client.start_flow(Desk(Do("Pack", lambda c, i: dead_end()), starts=False), "d")
    with pytest.raises(NotFound, match=place):
        client.time_travel("d", options)
