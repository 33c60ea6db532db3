"""Looking at Flows: history, state, search, and waits that are bounded (spec: FL-10, FL-12)."""

from datetime import timedelta

import pytest

from dex import StartFlowOptions, Timer, Wait, dead_end, go_to_many, graceful_complete
from dex.engine.flows.decision import StepMovement
from dex.wcl.commands.flows import GetFlowState, PageHistory, SearchFlows, ShowFlowTypes
from dex.wcl.errors import (
    FlowDefinitionError,
    FlowNotActiveOrNotFoundError,
    FlowNotFoundError,
    InvalidCommand,
    LongPollTimeoutError,
)
from tests.engine.flows.runtime.conftest import INSIDE, ONE_FILE, history
from tests.engine.flows.runtime.desk import BOXES, IN, OTHER, Aside, Await, Desk, Do, N

NOW = timedelta(0)


def ids(page):
    return [flow.flow_id for flow in page.flows]


@pytest.mark.spec("FL-12")
def test_every_commit_is_an_event_with_its_time(client, clock, work):
    flow = Desk(Do("A", lambda c, i: dead_end()))
    client.start_flow(flow, "d", options=StartFlowOptions().with_attribute(N, 1))
    clock.advance(1000)
    client.set_attributes("d", {"N": 2, "Items/x": None})
    client.publish(IN, "d", 1)
    work()
    client.invoke_rpc(flow.add_one, "d")
    client.update_flow_config("d", ["orders"])
    client.stop_flow("d")
    events = history(client, "d")
    assert [event.kind for event in events] == [
        "started", "set_attributes", "published", "step", "rpc", "config_updated", "stopped"
    ]  # fmt: skip
    assert [event.number for event in events] == list(range(1, 8))
    assert [event.at for event in events[:2]] == ["2023-11-14T22:13:20.000Z", "2023-11-14T22:13:21.000Z"]
    assert [event.attributes for event in events[:2]] == [["N"], ["N", "Items/x"]]
    assert client.describe_flow("d").attribute_stores == ["orders"]


@pytest.mark.spec("FL-12")
@ONE_FILE
def test_an_event_has_the_position_of_its_commit_in_the_journal(client):
    """On a cluster the journal also has who owns the partition."""
    client.start_flow(Desk(), "d")
    client.set_attributes("d", {"N": 2})
    client.stop_flow("d")
    assert [event.seq for event in history(client, "d")] == [1, 2, 3]


@pytest.mark.spec("FL-12")
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_history_is_paged_without_gap_or_double(client, limit):
    client.start_flow(Desk(), "d")
    for number in range(6):
        client.set_attributes("d", {"N": number})
    read, after = [], 0
    while after is not None:
        page = client.execute(PageHistory(flow_id="d", after=after, limit=limit))
        read += page.events
        after = page.next
    assert [event.number for event in read] == list(range(1, 8))


@pytest.mark.spec("FL-12", "FL-10")
def test_following_history_waits_for_the_next_event_and_ends_with_the_run(client):
    client.start_flow(Desk(), "d")
    following = Aside(client.execute, PageHistory(flow_id="d", after=1, wait_ms=600_000))
    client.set_attributes("d", {"N": 1})
    assert [event.number for event in following.result().events] == [2]
    empty = client.execute(PageHistory(flow_id="d", after=2, wait_ms=5))
    assert (empty.events, empty.next) == ([], None)
    client.stop_flow("d")
    assert client.execute(PageHistory(flow_id="d", after=3, wait_ms=600_000)).events == []


@pytest.mark.spec("FL-12")
def test_state_shows_open_steps_and_pending_messages(client, work):
    flow = Desk(
        Do("Start", lambda c, i: go_to_many(StepMovement.of("Bad"), StepMovement.of("Wait"), StepMovement.of("Long"))),
        Do("Bad", lambda c, i: 1 / 0),
        Await("Wait", Wait.until(IN.for_n(3)), lambda c, i: dead_end()),
        Await("Long", Wait.until(Timer.by_duration(timedelta(hours=1))), lambda c, i: dead_end()),
    )
    client.start_flow(flow, "d")
    client.publish(IN, "d", 1, 2)
    client.publish(BOXES, "d", "x", instance="b")
    work()
    state = client.execute(GetFlowState(flow_id="d"))
    shown = [(step.step_execution_id, step.type, step.status, step.attempt, step.due_at) for step in state.steps]
    assert shown == [
        ("Bad-1", "Bad", "ready", 2, "2023-11-14T22:13:21.000Z"),
        ("Long-1", "Long", "waiting", 1, "2023-11-14T23:13:20.000Z"),
        ("Wait-1", "Wait", "waiting", 1, None),
    ]
    assert "ZeroDivisionError" in state.steps[0].last_error
    assert state.channels == {"Boxes/b": 1, "In": 2}
    described = client.describe_flow("d")
    assert (described.steps, described.pending_steps, described.attributes) == (4, 3, 0)


@pytest.mark.spec("FL-12")
def test_types_are_listed_with_what_they_have(client):
    client.register(Desk(Do("A", lambda c, i: None)))
    shown = {summary.type: summary for summary in client.execute(ShowFlowTypes())}["Desk"]
    assert shown.steps == ["A"]
    assert {"add_one", "count", "lock_n"} <= set(shown.rpcs)
    assert shown.attributes == ["N", "Other", "Secret", "Items/*", "Notes/*"]


@pytest.mark.spec("FL-12")
def test_flows_are_found_by_type_status_and_both_the_newest_first(client, clock):
    for number in range(6):
        clock.advance(1)
        client.start_flow(Desk(name="Even" if number % 2 == 0 else "Odd"), f"d{number}")
    for number in (0, 1, 2):
        client.stop_flow(f"d{number}")
    assert ids(client.search_flows()) == ["d5", "d4", "d3", "d2", "d1", "d0"]
    assert ids(client.search_flows({"type": "Even"})) == ["d4", "d2", "d0"]
    assert ids(client.search_flows({"status": "canceled"})) == ["d2", "d1", "d0"]
    assert ids(client.search_flows({"type": "Even", "status": "running"})) == ["d4"]
    with pytest.raises(FlowDefinitionError, match="Even"):
        client.search_flows({"type": "Evn"})


@pytest.mark.spec("FL-12")
@ONE_FILE
def test_a_search_for_an_attribute_that_no_flow_has_is_refused_with_the_nearest(client, another):
    """Unless a run is of a type that is not known here, which may have had it."""
    assert ids(client.search_flows({"attributes": {"Nope": 1}})) == []
    client.start_flow(Desk(), "d")
    for query in ({}, {"type": "Desk"}, {"status": "failed"}):
        assert ids(client.search_flows({**query, "attributes": {"Other": 1}})) == []
        with pytest.raises(FlowDefinitionError, match=r"no Attribute|no Flow has Attribute") as refused:
            client.search_flows({**query, "attributes": {"Othr": 1}})
        assert "did you mean Other?" in str(refused.value)
    stranger = another()
    stranger.register(Desk(name="Another"))
    assert ids(stranger.search_flows({"attributes": {"Othr": 1}})) == []
    assert ids(stranger.search_flows({"type": "Desk", "attributes": {"Othr": 1}})) == []
    with pytest.raises(FlowDefinitionError, match="Flow Another has no Attribute Othr"):
        stranger.search_flows({"type": "Another", "attributes": {"Othr": 1}})


KINDS = {
    "int": 1,
    "bool": True,
    "text": "1",
    "bytes": b"1",
    "zero": 0,
    "false": False,
    "empty": "",
    "double": 1.5,
    "big": 2**53 + 1,
    "near": 2**53,
}


@pytest.mark.spec("FL-12", "FL-03")
@INSIDE
def test_attribute_values_are_found_by_kind_and_value(client):
    for flow_id, value in KINDS.items():
        client.start_flow(Desk(), flow_id, options=StartFlowOptions().with_attribute(OTHER, value))
    client.start_flow(Desk(), "unset")
    client.start_flow(Desk(), "list", options=StartFlowOptions().with_attribute(OTHER, [1]))
    for flow_id, value in KINDS.items():
        assert ids(client.search_flows({"attributes": {"Other": value}})) == [flow_id]
    client.set_attributes("int", {"Other": 2})
    client.set_attributes("text", {"Other": None})
    assert ids(client.search_flows({"attributes": {"Other": 1}})) == []
    assert ids(client.search_flows({"attributes": {"Other": "1"}})) == []
    with pytest.raises(InvalidCommand):
        client.search_flows({"attributes": {"Other": [1]}})


@pytest.mark.spec("FL-12")
def test_several_attributes_must_all_match(client):
    for number in range(4):
        options = StartFlowOptions().with_attribute(N, number % 2).with_attribute(OTHER, number)
        client.start_flow(Desk(), f"d{number}", options=options)
    assert ids(client.search_flows({"attributes": {"N": 1}})) == ["d3", "d1"]
    assert ids(client.search_flows({"type": "Desk", "status": "running", "attributes": {"N": 1, "Other": 3}})) == ["d3"]


@pytest.mark.spec("FL-12")
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_search_is_paged_without_gap_or_double_while_flows_are_started(client, clock, size):
    for number in range(7):
        clock.advance(1)
        client.start_flow(Desk(), f"d{number}")
    page = client.search_flows(page_size=size)
    read = ids(page)
    clock.advance(1)
    for number in range(4):
        client.start_flow(Desk(), f"later{number}")
    while page.next_page_token is not None:
        page = client.search_flows(page_size=size, page_token=page.next_page_token)
        read += ids(page)
    assert read == [f"d{number}" for number in reversed(range(7))]
    for token in ("x", "-1", "9" * 40, "1.5"):
        with pytest.raises(InvalidCommand):
            client.execute(SearchFlows(page_token=token))


@pytest.mark.spec("FL-10")
@pytest.mark.parametrize(
    "wait",
    [
        lambda c, t: c.wait_for_flow("d", t),
        lambda c, t: c.wait_for_step_completion("d", "A", t),
        lambda c, t: c.wait_for_attribute_equal(N, "d", 5, t),
    ],
)
def test_long_polls_end_when_their_time_is_over(client, wait):
    client.start_flow(Desk(Await("A", Wait.until(IN.for_one()), lambda c, i: graceful_complete())), "d")
    for milliseconds in (0, 20):
        with pytest.raises(LongPollTimeoutError) as caught:
            wait(client, timedelta(milliseconds=milliseconds))
        assert caught.value.waited_seconds == milliseconds / 1000
    with pytest.raises(InvalidCommand):
        wait(client, timedelta(minutes=11))


@pytest.mark.spec("FL-10")
@pytest.mark.parametrize("elsewhere", [False, True])
@INSIDE
def test_long_polls_see_what_another_process_does(client, another, elsewhere):
    flow = Desk(Await("A", Wait.until(IN.for_one()), lambda c, i: graceful_complete(i)))
    client.start_flow(flow, "d", 3)
    other = another() if elsewhere else client
    other.register(flow)
    waits = [
        Aside(client.wait_for_flow, "d", timedelta(minutes=10)),
        Aside(client.wait_for_step_completion, "d", "A-1", timedelta(minutes=10)),
        Aside(client.wait_for_attribute_equal, OTHER, "d", {"a": 1, "b": True}, timedelta(minutes=10)),
    ]
    other.set_attributes("d", {"Other": {"b": 1, "a": 1}})
    other.set_attributes("d", {"Other": {"b": True, "a": 1}})
    waits[2].result()
    other.publish(IN, "d", 1)
    other.engine.flows.worker.run(until_idle=True)
    assert waits[0].result().output == 3
    assert waits[1].result().status == "completed"


@pytest.mark.spec("FL-10")
def test_waits_for_what_can_never_be_say_so_at_once(client, work):
    client.start_flow(Desk(Do("A-2", lambda c, i: dead_end()), Do("B", lambda c, i: dead_end())), "d")
    with pytest.raises(FlowNotFoundError):
        client.wait_for_flow("e")
    with pytest.raises(FlowDefinitionError):
        client.wait_for_step_completion("d", "C")
    with pytest.raises(FlowDefinitionError):
        client.wait_for_step_completion("d", "A-" + "9" * 40)
    work()
    assert client.wait_for_step_completion("d", "A-2").step_execution_id == "A-2-1"
    assert client.wait_for_step_completion("d", "A-2-1").step_execution_id == "A-2-1"
    client.stop_flow("d")
    assert client.wait_for_step_completion("d", "A-2").status == "completed"
    with pytest.raises(FlowNotActiveOrNotFoundError):
        client.wait_for_step_completion("d", "B")
    with pytest.raises(FlowNotActiveOrNotFoundError):
        client.wait_for_attribute_equal(N, "d", 1)
    client.wait_for_attribute_equal(N, "d", None)


@pytest.mark.spec("FL-12")
def test_a_page_after_a_huge_number_is_empty_or_refused_with_one_line(client):
    client.start_flow(Desk(), "d")
    assert client.execute(PageHistory(flow_id="d", after=2**62)).events == []
    with pytest.raises(InvalidCommand):
        client.execute(PageHistory(flow_id="d", after=2**70))
