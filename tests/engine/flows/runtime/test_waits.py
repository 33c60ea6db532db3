"""What Steps wait for: Channels and Timers, alone and in combinations (spec: FL-08, FL-09)."""

from datetime import timedelta

import pytest

from dex import RPCResult, Timer, Wait, go_to, go_to_many, graceful_complete
from dex.engine.flows.decision import StepMovement
from dex.wcl.commands.flows import DeleteMessages, GetFlowState, ListMessages, PublishMessages, SkipTimer
from dex.wcl.errors import (
    ChannelMessageNotFoundError,
    DexError,
    FlowDefinitionError,
    FlowNotActiveOrNotFoundError,
    InvalidCommand,
    NotFound,
    ValueMappingError,
)
from tests.engine.flows.runtime.conftest import INSIDE, history
from tests.engine.flows.runtime.desk import BOXES, IN, OUT, Await, Desk, Do


def minutes(number, condition_id=""):
    return Timer.by_duration(timedelta(minutes=number), condition_id)


def took(context, input):
    return graceful_complete([IN.results(context), OUT.results(context), context.has_timer_fired(0)])


def pending(client, channel="In", flow_id="d"):
    return [m.value for m in client.execute(ListMessages(flow_id=flow_id, channel=channel)).messages]


@pytest.fixture
def waiting(client, work):
    """Start a Flow whose step waits."""

    def start(wait, execute=took):
        client.start_flow(Desk(Await("A", wait, execute)), "d")
        work()

    return start


@pytest.fixture
def over(client, work):
    """Tell what the Flow ended with, or None while it waits."""

    def tell():
        work()
        state = client.execute(GetFlowState(flow_id="d"))
        return None if state.status == "running" else client.wait_for_flow("d").output

    return tell


@pytest.mark.spec("FL-08")
def test_a_wait_for_nothing_executes_at_once(client, waiting, over):
    waiting(Wait.skip_immediately())
    assert over() == [[], [], False]


RANGES = [
    (IN.for_one(), [1], [1]),
    (IN.for_n(3), [3], [1, 2, 3]),
    (IN.at_least(2), [2], [1, 2]),
    (IN.at_least(2), [1, 3], [1, 2, 3, 4]),
    (IN.at_most(2), [1], [1]),
    (IN.at_most(2), [3], [1, 2]),
    (IN.for_range(2, 3), [1, 1], [1, 2]),
    (IN.for_range(2, 3), [1, 5], [1, 2, 3]),
]


@pytest.mark.spec("FL-08", "FL-09")
@pytest.mark.parametrize(("condition", "batches", "taken"), RANGES)
def test_a_condition_takes_what_its_range_allows_once_it_is_met(client, waiting, over, condition, batches, taken):
    waiting(Wait.until(condition))
    number = 0
    for count in batches:
        assert over() is None
        client.publish(IN, "d", *range(number + 1, number + count + 1))
        number += count
    assert over() == [taken, [], False]
    assert pending(client) == list(range(len(taken) + 1, number + 1))


@pytest.mark.spec("FL-08")
def test_messages_that_were_there_before_count(client, work, over):
    client.start_flow(Desk(Await("A", Wait.until(IN.for_n(2)), took)), "d")
    client.publish(IN, "d", 1, 2, 3)
    assert over() == [[1, 2], [], False]
    assert pending(client) == [3]


@pytest.mark.spec("FL-08")
def test_all_of_takes_nothing_before_all_are_met(client, waiting, over, clock):
    waiting(Wait.all_of(IN.for_one(), OUT.for_one(), minutes(1)))
    client.publish(IN, "d", 1)
    client.publish(OUT, "d", "o")
    assert over() is None
    assert (pending(client), pending(client, "Out")) == ([1], ["o"])
    clock.advance(60_000)
    assert over() == [[1], ["o"], True]


@pytest.mark.spec("FL-08")
def test_any_of_takes_the_first_that_is_met_and_leaves_the_rest(client, waiting, over):
    waiting(Wait.any_of(IN.for_n(2), OUT.for_one(), minutes(1)))
    client.publish(IN, "d", 1)
    assert over() is None
    client.publish(OUT, "d", "o")
    assert over() == [[], ["o"], False]
    assert pending(client) == [1]


@pytest.mark.spec("FL-08")
def test_of_combinations_one_must_be_met_as_a_whole(client, waiting, over, clock):
    timer, one, other = minutes(1), IN.for_one(), OUT.for_one()
    waiting(Wait.any_combination_of([one, other], [one, timer]))
    client.publish(IN, "d", 1)
    assert over() is None
    clock.advance(60_000)
    assert over() == [[1], [], True]


@pytest.mark.spec("FL-08")
def test_a_timer_fires_at_its_time_and_not_before(client, waiting, over, clock, kinds):
    waiting(Wait.any_of(IN.for_one(), minutes(1), minutes(2)))
    state = client.execute(GetFlowState(flow_id="d")).steps[0]
    assert (state.status, state.due_at) == ("waiting", "2023-11-14T22:14:20.000Z")
    clock.advance(59_999)
    assert over() is None
    assert kinds("d") == ["started", "step"]
    clock.advance(1)
    assert over() == [[], [], True]
    assert kinds("d") == ["started", "step", "timer_fired", "step"]


@pytest.mark.spec("FL-08")
def test_timers_fire_one_after_another_where_all_are_waited_for(client, waiting, over, clock):
    waiting(Wait.all_of(minutes(1), minutes(3)))
    for _ in range(2):
        clock.advance(60_000)
        assert over() is None
    clock.advance(60_000)
    assert over() == [[], [], True]


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize("by", [{"condition_id": "late"}, {"index": 1}])
def test_a_timer_is_skipped_by_its_condition_id_or_its_number(client, waiting, over, by):
    waiting(
        Wait.any_of(minutes(60, "later"), minutes(30, "late")),
        lambda c, i: graceful_complete([c.has_timer_fired(n) for n in range(3)]),
    )
    client.skip_timer("d", "A-1", **by)
    assert over() == [False, True, False]


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize(
    "command",
    [
        {"step_execution_id": "A-1", "index": 1},
        {"step_execution_id": "A-1", "index": -1},
        {"step_execution_id": "A-1", "condition_id": "x"},
        {"step_execution_id": "A-2", "index": 0},
        {"step_execution_id": "A", "index": 0},
        {"step_execution_id": "A-" + "9" * 30, "index": 0},
    ],
)
def test_skipping_a_timer_that_is_not_there_is_refused(client, waiting, stored, command):
    waiting(Wait.until(minutes(1)))
    before = stored()
    with pytest.raises(NotFound):
        client.execute(SkipTimer(flow_id="d", **command))
    assert stored() == before


@pytest.mark.spec("FL-08", "FL-09")
def test_each_message_is_consumed_by_one_step_the_oldest_waiting_first(client, work):
    flow = Desk(
        Do("Start", lambda c, i: go_to_many(*(StepMovement.of("A", n) for n in range(3)))),
        Await("A", Wait.until(IN.for_one()), lambda c, i: go_to("B", [i, *IN.results(c)])),
        Await("B", lambda c, i: Wait.until(BOXES.for_one("never")), lambda c, i: graceful_complete()),
    )
    client.start_flow(flow, "d")
    work()
    client.publish(IN, "d", 10)
    work()
    client.publish(IN, "d", 11, 12)
    work()
    state = client.execute(GetFlowState(flow_id="d"))
    assert [step.type for step in state.steps] == ["B"] * 3
    events = [event.detail["ready"] for event in history(client, "d") if "ready" in event.detail]
    assert events == [["A-1"], ["A-2", "A-3"]]


@pytest.mark.spec("FL-08", "FL-09")
def test_instances_of_a_channel_map_are_queues_of_their_own(client, waiting, over):
    waiting(Wait.until(BOXES.for_n("a/b", 2)), lambda c, i: graceful_complete(BOXES.results(c, "a/b")))
    client.publish(BOXES, "d", "x", instance="a")
    client.execute(PublishMessages(flow_id="d", channel="Boxes/a/b", messages=["y"]))
    assert over() is None
    assert client.execute(GetFlowState(flow_id="d")).channels == {"Boxes/a": 1, "Boxes/a%2Fb": 1}
    client.publish(BOXES, "d", "z", instance="a/b")
    assert over() == ["y", "z"]


@pytest.mark.spec("FL-09")
def test_a_batch_is_one_commit_with_an_id_for_each_message(client):
    client.start_flow(Desk(), "d")
    ids = client.publish(IN, "d", 1, 2, 3)
    messages = client.execute(ListMessages(flow_id="d", channel="In", limit=2)).messages
    assert ([m.id for m in messages], [m.value for m in messages]) == (ids[:2], [1, 2])
    assert messages[0].published_at == "2023-11-14T22:13:20.000Z"
    event = history(client, "d")[-1]
    assert (event.kind, event.detail) == ("published", {"channel": "In", "published": 3})


@pytest.mark.spec("FL-09")
@pytest.mark.parametrize(
    ("command", "error"),
    [
        ({"channel": "Inn", "messages": [1]}, FlowDefinitionError),
        ({"channel": "Boxes", "messages": ["x"]}, FlowDefinitionError),
        ({"channel": "In/x", "messages": [1]}, FlowDefinitionError),
        ({"channel": "In", "messages": [1, "x"]}, ValueMappingError),
    ],
)
def test_a_publish_that_is_refused_publishes_nothing(client, stored, command, error):
    client.start_flow(Desk(), "d")
    before = stored()
    with pytest.raises(error):
        client.execute(PublishMessages(flow_id="d", **command))
    assert stored() == before
    with pytest.raises(InvalidCommand):
        PublishMessages(flow_id="d", channel="In", messages=[])


@pytest.mark.spec("FL-09")
def test_messages_are_deleted_all_or_none(client, stored):
    client.start_flow(Desk(), "d")
    client.start_flow(Desk(), "e")
    ids = client.publish(IN, "d", 1, 2, 3)
    (other,) = client.publish(OUT, "d", "o")
    (foreign,) = client.publish(IN, "e", 9)
    before = stored()
    for wrong in (other, foreign, "0", "-1", "x", "", " 5", "\uff19", "9" * 18, "9" * 40):
        with pytest.raises(ChannelMessageNotFoundError) as caught:
            client.execute(DeleteMessages(flow_id="d", channel="In", message_ids=[ids[0], wrong]))
        assert (caught.value.channel, caught.value.message_id) == ("In", wrong)
    assert stored() == before
    client.execute(DeleteMessages(flow_id="d", channel="In", message_ids=[ids[0], ids[2]]))
    assert pending(client) == [2]
    with pytest.raises(ChannelMessageNotFoundError):
        client.execute(DeleteMessages(flow_id="d", channel="In", message_ids=[ids[0]]))
    assert pending(client, flow_id="e") == [9]


@pytest.mark.spec("FL-08", "FL-06")
@INSIDE
def test_an_rpc_that_publishes_lets_the_waiting_step_go_on_in_the_same_commit(client, waiting, over, stored):
    waiting(Wait.until(IN.for_one()))
    flow = client.engine.flows.parts.registry.get("Desk").flow
    flow.does["publish"] = lambda context: RPCResult(IN.publish(context, 4))
    before = len(stored()["journal"])
    client.invoke_rpc(flow.call, "d", "publish")
    assert len(stored()["journal"]) == before + 1
    assert history(client, "d")[-1].detail["ready"] == ["A-1"]
    assert pending(client) == []
    assert over() == [[4], [], False]


@pytest.mark.spec("FL-09", "FL-10")
def test_a_closed_run_takes_no_messages(client, stored):
    client.start_flow(Desk(), "d")
    client.stop_flow("d")
    before = stored()
    for refused in (
        lambda: client.publish(IN, "d", 1),
        lambda: client.execute(DeleteMessages(flow_id="d", channel="In", message_ids=[])),
        lambda: client.set_attributes("d", {"N": 1}),
        lambda: client.stop_flow("d"),
        lambda: client.update_flow_config("d", []),
    ):
        with pytest.raises(FlowNotActiveOrNotFoundError):
            refused()
    assert stored() == before


@pytest.mark.spec("FL-08")
def test_one_timer_of_many_conditions_ends_the_wait_of_its_step_only(client, work, clock):
    flow = Desk(
        Do("Start", lambda c, i: go_to_many(StepMovement.of("A", 1), StepMovement.of("A", 2))),
        Await("A", lambda c, i: Wait.until(minutes(i)), lambda c, i: graceful_complete(i)),
    )
    client.start_flow(flow, "d")
    work()
    clock.advance(60_000)
    work()
    assert [step.step_execution_id for step in client.execute(GetFlowState(flow_id="d")).steps] == ["A-2"]
    clock.advance(60_000)
    work()
    assert client.wait_for_flow("d").output == 2


@pytest.mark.spec("FL-08")
@INSIDE
def test_a_clock_that_is_set_back_between_two_looks_fires_no_timer_and_writes_no_event(client, waiting, clock, stored):
    waiting(Wait.until(minutes(1)))
    worker = client.engine.flows.worker
    clock.advance(60_000)
    due = worker._due(frozenset())
    clock.advance(-30_000)
    assert worker._due(frozenset()) == {}
    for work in due.values():
        work.do()
    assert [event.kind for event in history(client, "d")][-1] == "timer_fired"
    before = stored()
    for work in due.values():
        with pytest.raises(DexError):
            work.do()
    assert stored() == before
