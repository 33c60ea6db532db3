"""RPCs: what they load, and that all of a call is kept or nothing (spec: FL-03 … FL-06)."""

import asyncio
import sys
from datetime import UTC, datetime

import pytest

from dex import RPCInvokeOptions, RPCResult, StartFlowOptions, StepMovement, graceful_complete
from dex.engine.flows.state import commits
from dex.wcl.commands.flows import InvokeRpc, ListMessages
from dex.wcl.errors import (
    AttributeMapNotLoadedError,
    ChannelMessageNotFoundError,
    DexError,
    FlowDefinitionError,
    FlowNotActiveOrNotFoundError,
    FlowNotFoundError,
    InvalidStepResultError,
    Refused,
    RequestTimeoutError,
    RPCLockConflict,
    ValueMappingError,
    WorkerInvocationError,
)
from tests.engine.flows.runtime.conftest import INSIDE, history
from tests.engine.flows.runtime.desk import (
    BOXES,
    IN,
    ITEMS,
    NOTES,
    OTHER,
    OUT,
    Aside,
    Desk,
    Do,
    Gate,
    Item,
    N,
    get,
    inside,
)


@pytest.fixture
def desk(client):
    flow = Desk(Do("Later", lambda context, input: graceful_complete(input)), starts=False)
    client.start_flow(flow, "d", options=StartFlowOptions().with_attribute(N, 1))
    return flow


@pytest.fixture
def call(client, desk):
    """Call an RPC of the desk with a handler."""

    def call_(handler, rpc="call", options=None):
        desk.does["raw" if rpc.startswith("raw") else "h"] = handler
        return client.invoke_rpc(getattr(desk, rpc), "d", "h", options)

    return call_


VALUES = [
    "text",
    "",
    2**63 - 1,
    -(2**63),
    0,
    1.5,
    True,
    False,
    b"\x00\xff",
    datetime(2024, 3, 10, 2, 30, tzinfo=UTC),
    {"a": {"b": [1, None, "x"]}},
    [],
]


@pytest.mark.spec("FL-03")
@pytest.mark.parametrize("value", VALUES, ids=repr)
@INSIDE
def test_every_kind_of_value_comes_back_as_it_was_and_null_deletes(client, call, value):
    call(lambda context: OTHER.set(context, value))
    read = call(OTHER.get)
    assert (read, type(read)) == (value, type(value))
    assert client.get_attribute(OTHER, "d") == value
    call(lambda context: OTHER.set(context, None))
    assert "Other" not in client.get_attributes("d")
    with pytest.raises(WorkerInvocationError, match="KeyError"):
        call(OTHER.get)


@pytest.mark.spec("FL-03", "FL-10")
@INSIDE
def test_values_are_set_and_read_from_outside_by_name(client, desk):
    client.set_attributes("d", {"N": 7, "Other": b"\x00", "Items/a/b": Item("ab"), "Notes/x": "y"})
    assert client.get_attributes("d") == {"N": 7, "Other": b"\x00", "Items/a%2Fb": Item("ab"), "Notes/x": "y"}
    assert client.get_attributes("d", ["Items/a/b", "N", "Secret"]) == {"Items/a%2Fb": Item("ab"), "N": 7}
    assert client.get_attribute(ITEMS, "d", "a/b") == Item("ab")
    client.set_attribute(ITEMS, "d", None, "a/b")
    client.set_attributes("d", {"N": None})
    assert client.get_attributes("d") == {"Other": b"\x00", "Notes/x": "y"}


@pytest.mark.spec("FL-03", "FL-10")
@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        ({"N": 1, "M": 2}, FlowDefinitionError),
        ({"N": 1, "Items": {}}, FlowDefinitionError),
        ({"N": 1, "Items/": {}}, DexError),
        ({"N": 1, "N/x": 2}, FlowDefinitionError),
        ({"Other": 1, "N": "2"}, ValueMappingError),
        ({"N": 5, "Items/a": {"name": 1}}, ValueMappingError),
        ({"N": 5, "Other": float("nan")}, ValueMappingError),
    ],
)
@INSIDE
def test_a_set_that_is_refused_sets_nothing(client, desk, stored, attributes, error):
    before = stored()
    with pytest.raises(error):
        client.set_attributes("d", attributes)
    assert stored() == before


@pytest.mark.spec("FL-04")
def test_an_instance_is_made_when_it_is_set_and_rewritten_alone(client, call, stored):
    call(lambda context: ITEMS.set(context, "item/7%", Item("seven")))
    call(lambda context: ITEMS.set(context, "b", Item("b")))
    assert [key for _, key, *_ in stored()["attributes"]] == ["Items/b", "Items/item%2F7%25", "N"]
    events = history(client, "d")
    assert events[-2].attributes == ["Items/item%2F7%25"]
    before = {row[1]: row for row in stored()["attributes"]}
    call(lambda context: ITEMS.set(context, "b", Item("b", 2)))
    after = {row[1]: row for row in stored()["attributes"]}
    assert [key for key in after if after[key] != before[key]] == ["Items/b"]


@pytest.mark.spec("FL-05")
def test_plain_attributes_load_by_themselves_and_instances_when_asked_for(client, call):
    client.set_attributes("d", {"Items/a": Item("a"), "Items/b": Item("b"), "Notes/n": "n"})
    assert call(N.get) == 1
    with pytest.raises(AttributeMapNotLoadedError) as caught:
        call(lambda context: ITEMS.get(context, "a"))
    assert (caught.value.attribute_map, caught.value.instance) == ("Items", "a")
    assert call(lambda context: ITEMS.get(context, "a").name, "with_a") == "a"
    with pytest.raises(AttributeMapNotLoadedError):
        call(lambda context: ITEMS.get(context, "b"), "with_a")
    both = RPCInvokeOptions(load_attribute_map_instances=[ITEMS.load("b"), NOTES.load("n")])
    answer = call(
        lambda context: [ITEMS.get(context, "a").name, ITEMS.get(context, "b").name, NOTES.get(context, "n")],
        "with_a",
        both,
    )
    assert answer == ["a", "b", "n"]
    assert call(ITEMS.instance_keys, "with_items") == ["a", "b"]
    with pytest.raises(AttributeMapNotLoadedError):
        call(ITEMS.instance_keys, "with_a")


@pytest.mark.spec("FL-05", "FL-07")
def test_locks_of_the_declaration_and_the_invocation_are_united(client, desk, another):
    options = RPCInvokeOptions(lock_attribute_map_instances=[ITEMS.lock("x")])
    gate = Gate()
    desk.does["gate"] = gate
    holder = Aside(client.invoke_rpc, desk.lock_n, "d", "gate", options)
    assert gate.inside.wait(20)
    desk.does["h"] = lambda context: "ran"
    try:
        for rpc, locks in ((desk.lock_n, []), (desk.call, ["x"]), (desk.lock_other, ["y", "x"])):
            more = RPCInvokeOptions(lock_attribute_map_instances=[ITEMS.lock(i) for i in locks])
            with pytest.raises(RPCLockConflict):
                client.invoke_rpc(rpc, "d", "h", more)
        free = RPCInvokeOptions(lock_attribute_map_instances=[ITEMS.lock("y")])
        assert client.invoke_rpc(desk.lock_other, "d", "h", free) == "ran"
    finally:
        gate.open.set()
    holder.result()
    assert client.invoke_rpc(desk.call, "d", "h", options) == "ran"


@pytest.mark.spec("FL-05")
@pytest.mark.parametrize(
    "names",
    [{"lock": ["M"]}, {"lock": ["Items"]}, {"load": ["N/x"]}, {"load": ["Itms/a"]}, {"load_channels": ["Inn"]}],
)
def test_an_invocation_that_names_what_is_not_declared_is_refused(client, desk, names):
    with pytest.raises(FlowDefinitionError):
        client.execute(InvokeRpc(flow_id="d", rpc="count", **names))


@pytest.mark.spec("FL-05", "FL-09")
def test_messages_load_as_declared_or_asked_for(client, call):
    client.publish(IN, "d", 1, 2)
    client.publish(BOXES, "d", "x", instance="a/b")

    def look(context):
        waiting = [message.value for message in IN.pending_messages(context)]
        boxes = [message.value for message in BOXES.pending_messages(context, "a/b")]
        return [waiting, boxes, IN.size(context), BOXES.size(context, "a/b"), OUT.size(context)]

    assert call(look, "with_channels") == [[1, 2], ["x"], 2, 1, 0]
    with pytest.raises(FlowDefinitionError, match="not loaded"):
        call(IN.pending_messages)
    options = RPCInvokeOptions(load_channel_map_instances=[BOXES.load("a/b")])
    assert call(lambda context: len(BOXES.pending_messages(context, "a/b")), options=options) == 1


def everything(context):
    """Have every kind of effect."""
    N.set(context, get(context, N, 0) + 10)
    OTHER.delete(context)
    ITEMS.set(context, "new", Item("new"))
    IN.publish(context, 5)
    BOXES.publish(context, "b", "m")
    context.record_event("noted", {1: b"x"})


@pytest.mark.spec("FL-01", "FL-05")
@pytest.mark.parametrize("by", ["call", "lock_n"])
def test_each_call_is_of_the_latest_run_whoever_has_started_it(client, another, by):
    """Its type may be another one as well."""
    first, second = Desk(), Desk(name="Second")
    for flow in (first, second):
        flow.does["who"] = lambda context, name=flow.name: f"{name} {context.run_id}"
    other = another()
    client.register(second)
    run_id = client.start_flow(first, "d")
    assert client.invoke_rpc(getattr(first, by), "d", "who") == f"Desk {run_id}"
    other.stop_flow("d")
    with pytest.raises(FlowNotActiveOrNotFoundError):
        client.invoke_rpc(getattr(first, by), "d", "who")
    run_id = other.start_flow(second, "d")
    assert client.invoke_rpc(getattr(second, by), "d", "who") == f"Second {run_id}"


@pytest.mark.spec("FL-06", "FL-12")
@INSIDE
def test_all_effects_of_a_call_are_one_commit_and_one_event(client, call, stored, work):
    client.set_attribute(OTHER, "d", "gone")
    before = len(stored()["journal"])
    answer = call(lambda context: everything(context) or RPCResult("done", [StepMovement.of("Later", 3)]))
    assert answer == "done"
    assert len(stored()["journal"]) == before + 1
    assert client.get_attributes("d") == {"N": 11, "Items/new": Item("new")}
    assert [m.value for m in client.execute(ListMessages(flow_id="d", channel="In")).messages] == [5]
    assert [m.value for m in client.execute(ListMessages(flow_id="d", channel="Boxes/b")).messages] == ["m"]
    event = history(client, "d")[-1]
    assert (event.kind, sorted(event.attributes)) == ("rpc", ["Items/new", "N", "Other"])
    assert event.detail["rpc"] == "call"
    assert event.detail["events"] == [["noted", {"1": {"bytes": "eA=="}}]]
    assert event.detail["steps"] == ["Later-1"]
    work()
    assert client.wait_for_flow("d").output == 3


@pytest.mark.spec("FL-06", "FL-05")
def test_a_call_without_effects_commits_nothing(client, call, desk, stored):
    before = stored()
    assert client.invoke_rpc(desk.count, "d") == 1
    assert call(N.get, "lock_n") == 1
    assert call(lambda context: N.set(context, 1) or "same", "transact") == "same"
    assert stored() == before


def fails(how):
    def handler(context):
        everything(context)
        return how(context)

    return handler


REFUSED = {
    "raises": (lambda c: 1 / 0, "call", WorkerInvocationError),
    "raises ours": (lambda c: ITEMS.get(c, "b"), "call", AttributeMapNotLoadedError),
    "exits": (lambda c: sys.exit(3), "lock_n", WorkerInvocationError),
    "is cancelled": (lambda c: (_ for _ in ()).throw(asyncio.CancelledError()), "call", WorkerInvocationError),
    "unknown step": (lambda c: RPCResult(None, [StepMovement.of("Latter")]), "call", FlowDefinitionError),
    "no movement": (lambda c: RPCResult(None, ["Later"]), "call", InvalidStepResultError),
    "no movements": (lambda c: RPCResult(None, None), "call", InvalidStepResultError),
    "unstorable output": (lambda c: RPCResult(object()), "call", ValueMappingError),
    "unstorable input": (lambda c: RPCResult(0, [StepMovement.of("Later", object())]), "call", ValueMappingError),
    "wrong value": (lambda c: N.set(c, "x"), "call", ValueMappingError),
    "undeclared": (lambda c: c.workspace.write_attribute("M", "M", b"\x01"), "call", FlowDefinitionError),
    "no such message": (lambda c: OUT.delete(c, "7"), "call", ChannelMessageNotFoundError),
    "no message id": (lambda c: OUT.delete(c, "x"), "call", ChannelMessageNotFoundError),
    "a huge message id": (lambda c: OUT.delete(c, "9" * 40), "call", ChannelMessageNotFoundError),
    "surrogate event": (lambda c: c.record_event("\ud800"), "call", DexError),
}


@pytest.mark.spec("FL-06")
@pytest.mark.parametrize("case", REFUSED)
def test_a_call_that_is_refused_leaves_no_trace(call, stored, case):
    how, rpc, error = REFUSED[case]
    before = stored()
    with pytest.raises(error):
        call(fails(how), rpc)
    assert stored() == before
    assert call(N.get, "lock_n") == 1


@pytest.mark.spec("FL-06")
def test_a_handler_that_returns_no_result_is_refused_and_keeps_nothing(client, desk, stored):
    before = stored()
    for wrong in (None, 5, graceful_complete()):
        desk.does["raw"] = lambda context, wrong=wrong: everything(context) or wrong
        with pytest.raises(InvalidStepResultError, match="RPCResult"):
            client.invoke_rpc(desk.call, "d", "raw")
    assert stored() == before


@pytest.mark.spec("FL-06", "FL-07")
def test_a_call_that_runs_past_its_timeout_keeps_nothing_and_frees_its_lock(client, desk, stored):
    before = stored()
    seen = {}

    def slow(context):
        seen["context"] = context
        gate(context)
        everything(context)

    gate = desk.does["slow"] = Gate()
    desk.does["slow"] = slow
    with pytest.raises(RequestTimeoutError, match=r"0\.05 s"):
        client.invoke_rpc(desk.hurry, "d", "slow")
    assert seen["context"].is_cancellation_requested
    gate.open.set()
    desk.does["h"] = lambda context: "free"
    assert client.invoke_rpc(desk.lock_n, "d", "h") == "free"
    assert stored() == before


@pytest.mark.spec("FL-06")
def test_a_call_that_writes_more_than_a_commit_may_is_refused(call, stored, monkeypatch):
    monkeypatch.setattr(commits, "MAX_PER_COMMIT", 3)
    before = stored()
    for write in (lambda c, i: NOTES.set(c, str(i), ""), IN.publish):
        with pytest.raises(Refused, match="one commit"):
            call(lambda context, write=write: [write(context, number) for number in range(4)] and None)
        assert stored() == before
    call(lambda context: [NOTES.set(context, str(number), "") for number in range(3)] and None)


@pytest.mark.spec("FL-06")
def test_deleting_a_message_of_another_channel_is_refused(client, call, stored):
    (message_id,) = client.publish(IN, "d", 1)
    before = stored()
    with pytest.raises(ChannelMessageNotFoundError):
        call(lambda context: OUT.delete(context, message_id))
    assert stored() == before
    call(lambda context: IN.delete(context, message_id))
    assert client.execute(ListMessages(flow_id="d", channel="In")).messages == []


@pytest.mark.spec("FL-05")
def test_an_async_handler_runs_to_its_end_also_under_an_event_loop(client, desk):
    async def slow(context):
        await asyncio.sleep(0)
        return get(context, N, 0)

    async def under_a_loop():
        return client.invoke_rpc(desk.later, "d", "h")

    desk.does["h"] = lambda context: get(context, N, 0)
    assert client.invoke_rpc(desk.later, "d", "h") == 1
    assert asyncio.run(under_a_loop()) == 1


@pytest.mark.spec("FL-05")
def test_what_is_not_there_is_told_with_the_nearest_name(client, desk):
    desk.does["h"] = lambda context: None
    with pytest.raises(FlowNotFoundError):
        client.invoke_rpc(desk.call, "dd", "h")
    with pytest.raises(FlowDefinitionError, match="count"):
        client.execute(InvokeRpc(flow_id="d", rpc="cuont"))
    with pytest.raises(ValueMappingError):
        client.execute(InvokeRpc(flow_id="d", rpc="call", input=5))
    client.stop_flow("d")
    with pytest.raises(FlowNotActiveOrNotFoundError):
        client.invoke_rpc(desk.call, "d", "h")


@pytest.mark.spec("FL-03", "FL-05")
@pytest.mark.parametrize(
    "invoke",
    [
        lambda client, rpc, *value: client.invoke_rpc(rpc, "d", *value),
        lambda client, rpc, value=None: client.execute(InvokeRpc(flow_id="d", rpc=rpc.name, input=value)),
    ],
    ids=["sdk", "typed"],
)
def test_an_input_that_is_missing_or_too_much_is_told_as_such(client, desk, invoke):
    """And not as a null that does not fit: nobody has written one."""
    with pytest.raises(ValueMappingError, match=r"^RPC call needs an input: str; give it one$"):
        invoke(client, desk.call)
    with pytest.raises(ValueMappingError, match=r"^RPC count takes no input; call it without one$"):
        invoke(client, desk.count, 5)


@pytest.mark.spec("FL-06")
def test_a_call_whose_run_is_stopped_meanwhile_keeps_nothing(client, desk):
    with inside(client, desk.lock_n, "d", everything) as call:
        client.stop_flow("d")
    with pytest.raises(FlowNotActiveOrNotFoundError):
        call.result()
    assert client.get_attributes("d") == {"N": 1}
    assert history(client, "d")[-1].kind == "stopped"


@pytest.mark.spec("FL-03")
def test_values_of_a_type_that_this_process_does_not_know_are_shown_plainly(client, desk, another):
    client.set_attributes("d", {"Items/a": Item("a", 3)})
    assert another().get_attributes("d") == {"N": 1, "Items/a": {"name": "a", "cents": 3}}


@pytest.mark.spec("FL-05")
@INSIDE
def test_calling_does_not_compile_the_flow_again(client, desk, monkeypatch):
    """Compiling takes milliseconds, a call microseconds; an instance made for each call is alike."""
    from dex.engine.flows import flowtype
    from dex.samples.customer_directory import CustomerDirectoryFlow

    client.start_flow(CustomerDirectoryFlow, "c")
    client.start_flow(CustomerDirectoryFlow(), "c2")
    compiled = []
    compile_ = flowtype._compiled
    monkeypatch.setattr(flowtype, "_compiled", lambda flow: compiled.append(flow) or compile_(flow))
    client.invoke_rpc(desk.count, "d")
    for _ in range(2):
        client.start_flow(CustomerDirectoryFlow(), f"c{_ + 3}")
    assert compiled == []


@pytest.mark.spec("K-02", "FL-05")
@pytest.mark.parametrize(
    "change",
    [
        lambda context: N.set(context, 2),
        lambda context: OUT.publish(context, 1),
        lambda context: context.record_event("e", 1),
        lambda context: RPCResult(None, next_steps=(StepMovement.of("Later", None),)),
    ],
    ids=["attribute", "message", "event", "step"],
)
def test_an_rpc_that_is_declared_read_only_changes_nothing(client, call, change) -> None:
    assert call(N.get, "look") == 1
    before = history(client, "d")
    with pytest.raises(FlowDefinitionError, match="read-only"):
        call(change, "look")
    assert client.get_attribute(N, "d") == 1
    assert history(client, "d") == before


@pytest.mark.spec("K-02")
def test_no_rpc_is_called_as_one_that_only_reads_unless_it_is_declared_so(client, desk) -> None:
    """A server takes such a call from who may only read: the handler does not run."""
    desk.does["h"] = lambda context: pytest.fail("it ran")
    with pytest.raises(FlowDefinitionError, match="not declared read-only"):
        client.execute(InvokeRpc(flow_id="d", rpc="call", input="h", read_only=True))
