"""Starting Flows: who gets the Flow ID, and with what the run begins (spec: FL-01, FL-02)."""

from datetime import timedelta

import pytest

from dex import FlowConfig, IdReusePolicy, StartFlowOptions, StopFlowOptions, StopType, graceful_complete
from dex.wcl.commands.flows import StartFlow
from dex.wcl.errors import FlowAlreadyStartedError, FlowDefinitionError, InvalidCommand, ValueMappingError
from tests.engine.flows.runtime.conftest import ONE_FILE, still
from tests.engine.flows.runtime.desk import OTHER, Aside, Desk, Do, Item, N


def policy(name: str, **more) -> StartFlowOptions:
    return StartFlowOptions(id_reuse_policy=IdReusePolicy(name), **more)


@pytest.mark.spec("FL-01")
def test_a_start_makes_a_run_with_an_id_of_its_own_that_runs_until_it_is_stopped(client, clock, work):
    run_id = client.start_flow(Desk(), "d")
    assert run_id
    clock.advance(10 * 365 * 24 * 3_600_000)
    work()
    described = client.describe_flow("d")
    assert (described.type, described.run_id, described.status) == ("Desk", run_id, "running")
    assert (described.timeout_at, described.closed_at, described.history_events) == (None, None, 1)
    client.stop_flow("d")
    assert client.start_flow(Desk(), "d") != run_id


@pytest.mark.spec("FL-01", "FL-03")
def test_first_values_and_the_input_are_there_from_the_first_commit(client):
    options = StartFlowOptions(config_override=FlowConfig(attribute_store_names=["orders"]))
    client.start_flow(Desk(), "d", Item("x", 3), options.with_attribute(N, 4).with_attribute(OTHER, [1]))
    assert client.get_attributes("d") == {"N": 4, "Other": [1]}
    described = client.describe_flow("d")
    assert described.input == {"name": "x", "cents": 3}
    assert described.attribute_stores == ["orders"]


@pytest.mark.spec("FL-03", "FL-01")
@pytest.mark.parametrize(
    ("command", "error"),
    [
        ({"type": "Dask"}, FlowDefinitionError),
        ({"attributes": {"M": 1}}, FlowDefinitionError),
        ({"attributes": {"Items": {}}}, FlowDefinitionError),
        ({"attributes": {"N": "text"}}, ValueMappingError),
        ({"attributes": {"N": 2**63}}, ValueMappingError),
        ({"flow_id": " "}, InvalidCommand),
        ({"timeout_ms": -1}, InvalidCommand),
        ({"timeout_ms": 2**62}, InvalidCommand),
        ({"timeout_ms": 2**80}, InvalidCommand),
        ({"start_delay_ms": 2**62}, InvalidCommand),
    ],
)
def test_a_start_that_is_refused_leaves_nothing(client, stored, command, error):
    client.register(Desk())
    client.start_flow(Desk(), "other")
    before = stored()
    with pytest.raises(error):
        client.execute(StartFlow(**{"type": "Desk", "flow_id": "d", **command}))
    assert stored() == before


@pytest.mark.spec("FL-02")
@pytest.mark.parametrize(
    ("end", "allowed"),
    [
        (None, {"allow_terminate_if_running"}),
        ("complete", {"default", "allow_if_not_running", "allow_terminate_if_running"}),
        ("fail", set(IdReusePolicy) - {"disallow"}),
        ("cancel", set(IdReusePolicy) - {"disallow"}),
        ("terminate", set(IdReusePolicy) - {"disallow"}),
    ],
)
@pytest.mark.parametrize("reuse", list(IdReusePolicy))
def test_a_used_flow_id_is_given_again_as_the_policy_says(client, work, kinds, end, allowed, reuse):
    flow = Desk(Do("End", lambda context, input: graceful_complete()))
    first = client.start_flow(flow, "d")
    if end == "complete":
        work()
    elif end is not None:
        client.stop_flow("d", StopFlowOptions(StopType(end)))
    if reuse in allowed:
        second = client.start_flow(flow, "d", options=policy(reuse))
        assert second != first
        assert client.describe_flow("d").run_id == second
        old = client.describe_flow("d", first)
        assert old.status == "terminated" if end is None else old.status != "running"
    else:
        with pytest.raises(FlowAlreadyStartedError) as caught:
            client.start_flow(flow, "d", options=policy(reuse))
        assert (caught.value.run_id, caught.value.reason) == (first, "flow")
        assert client.describe_flow("d").run_id == first


@pytest.mark.spec("FL-02")
def test_a_flow_id_that_another_type_uses_is_told_with_that_type(client):
    client.start_flow(Desk(), "d")
    with pytest.raises(FlowAlreadyStartedError, match="as a Desk"):
        client.start_flow(Desk(name="Bench"), "d")


@pytest.mark.spec("FL-02")
@pytest.mark.parametrize("ignore", [True, False])
def test_the_same_request_gives_the_run_that_it_made_also_after_others(client, stored, ignore):
    options = StartFlowOptions(request_id="r1", ignore_already_started=ignore)
    first = client.start_flow(Desk(), "d", options=options)
    before = stored()
    assert client.start_flow(Desk(), "d", options=options) == first
    answer = client.execute(StartFlow(type="Desk", flow_id="d", request_id="r1"))
    assert (answer.run_id, answer.started) == (first, False)
    assert stored() == before
    client.stop_flow("d")
    assert client.start_flow(Desk(), "d", options=options) == first
    second = client.start_flow(Desk(), "d", options=StartFlowOptions(request_id="r2"))
    assert client.start_flow(Desk(), "d", options=options) == first
    assert client.describe_flow("d").run_id == second


@pytest.mark.spec("FL-02")
def test_ignoring_a_start_before_needs_the_same_request_and_the_same_type(client):
    client.start_flow(Desk(), "d", options=StartFlowOptions(request_id="r1"))
    for request_id in (None, "r2"):
        options = StartFlowOptions(request_id=request_id, ignore_already_started=True)
        with pytest.raises(FlowAlreadyStartedError):
            client.start_flow(Desk(), "d", options=options)
    with pytest.raises(FlowAlreadyStartedError, match="as a Desk"):
        client.start_flow(Desk(name="Bench"), "d", options=StartFlowOptions(request_id="r1"))


@pytest.mark.spec("FL-01")
def test_a_delayed_start_takes_calls_at_once_and_runs_its_step_later(client, clock, work):
    ran = []
    flow = Desk(Do("Go", lambda context, input: ran.append(input) or graceful_complete()))
    client.start_flow(flow, "d", 7, StartFlowOptions(start_delay=timedelta(seconds=5)))
    assert client.invoke_rpc(flow.add_one, "d") == 1
    clock.advance(4_999)
    work()
    assert ran == []
    clock.advance(1)
    work()
    assert ran == [7]
    assert client.wait_for_flow("d").status == "completed"


@pytest.mark.spec("FL-01", "FL-02")
@pytest.mark.parametrize("other_engine", [False, True])
def test_of_two_starts_at_once_one_makes_the_run_and_the_other_is_told(client, another, other_engine):
    """Case 32: fifty times, from two threads of a process and from two engines on one directory."""
    second = another() if other_engine else client
    for number in range(50):
        starts = [Aside(c.start_flow, Desk(), f"s{number}") for c in (client, second)]
        made, refused = [], []
        for start in starts:
            try:
                made.append(start.result())
            except FlowAlreadyStartedError as error:
                refused.append(error.run_id)
        assert len(made) == 1
        assert refused == made
    assert len(client.search_flows({"type": "Desk"}).flows) == 50


@pytest.mark.spec("FL-01")
@ONE_FILE
def test_a_flow_is_known_again_after_reopening(client, another):
    client.start_flow(Desk(), "d", options=StartFlowOptions().with_attribute(N, 1))
    client.close()
    again = another()
    assert again.invoke_rpc(Desk().add_one, "d") == 2


@pytest.mark.spec("FL-01")
def test_making_types_known_needs_no_directory_yet(open_engine, data_dir):
    """The worker starts before the first command makes the directory."""
    engine = open_engine()
    client = still(engine)
    del engine.flows.worker.start
    client.register(Desk(Do("End", lambda context, input: graceful_complete(input))))
    client.start_flow(Desk(Do("End", lambda context, input: graceful_complete(input))), "d", 5)
    assert client.wait_for_flow("d").output == 5
