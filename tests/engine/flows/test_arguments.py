"""Wrong arguments of the SDK: each is told before any call, with what was given, what is expected and right call."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from dex import (
    Attribute,
    AttributeIndex,
    AttributeMap,
    Channel,
    ChannelMap,
    Client,
    Context,
    Flow,
    FlowConfig,
    FlowStatus,
    IndexType,
    PersistenceSchema,
    Refused,
    RetryPolicy,
    RPCInvokeOptions,
    RPCResult,
    StartFlowOptions,
    Step,
    StepDecision,
    StepList,
    StepOptions,
    StopFlowOptions,
    StopType,
    Timer,
    TimeTravelOptions,
    Wait,
    graceful_complete,
    retry_after,
    rpc,
)
from dex.engine.flows.checking import MAX_SHOWN, checked
from tests.engine.flows.definitions.calls import call

STATUS = Attribute("Status", str)
PROFILES = AttributeMap("Profiles", int)
PAYMENTS = Channel("Payments", int)
INBOX = ChannelMap("Inbox", int)


class Work(Step[str]):
    def execute(self, context: Context, input: str) -> StepDecision:
        STATUS.set(context, input)
        return graceful_complete(input)


class Shop(Flow[str]):
    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(STATUS, PROFILES, PAYMENTS, INBOX)

    def get_steps(self) -> StepList:
        return StepList.start_step(Work)

    @rpc
    def greet(self, context: Context, name: str) -> RPCResult[str]:
        return RPCResult(f"Hello {name}")


SHOP = Shop()
SECOND = timedelta(seconds=1)
Call = Callable[[Any], Any]


@pytest.fixture
def client(local: Any) -> Client:
    return Client(local)


CLIENT_CALLS: list[tuple[Call, str]] = [
    (
        lambda c: c.start_flow("Shop", "f"),
        "client.start_flow: flow is the str 'Shop', and Flow or a subclass of Flow",
    ),
    (lambda c: c.start_flow(Work, "f"), "flow is the class Work, and Flow or a subclass of Flow is expected"),
    (lambda c: c.start_flow("f", SHOP), "flow is the str 'f'"),
    (lambda c: c.start_flow(SHOP, 7), "flow_id is the int 7, and str is expected"),
    (lambda c: c.start_flow(SHOP, "f", "x", "fast"), "options is the str 'fast', and StartFlowOptions or None is"),
    (
        lambda c: c.start_flow(SHOP, "f", options=StopFlowOptions()),
        "StartFlowOptions or None is expected; write client.",
    ),
    (lambda c: c.register(SHOP, Work), "client.register: flows is the class Work"),
    (
        lambda c: c.invoke_rpc(Shop.greet, "f", "x"),
        "rpc is the RPC Shop.greet, and BoundRPC is expected; write client.",
    ),
    (lambda c: c.invoke_rpc("greet", "f", "x"), "write client.invoke_rpc(OrderFlow().cancel, 'order-1', input"),
    (lambda c: c.invoke_rpc("f", SHOP.greet, "x"), "rpc is the str 'f'"),
    (lambda c: c.invoke_rpc(SHOP.greet, "f", "x", StartFlowOptions()), "RPCInvokeOptions or None is expected"),
    (
        lambda c: c.get_attribute("f", STATUS),
        "definition is the str 'f', and Attribute or AttributeMap is expected",
    ),
    (lambda c: c.get_attribute("Status", "f"), "write client.get_attribute(STATUS, 'order-1')"),
    (lambda c: c.get_attribute(STATUS, "f", 3), "instance is the int 3, and str or None is expected"),
    (lambda c: c.get_attribute(PAYMENTS, "f"), "definition is Channel('Payments', int), and Attribute"),
    (lambda c: c.get_attribute(PROFILES, "f"), "has instances, and none is named; pass instance='…'"),
    (lambda c: c.get_attribute(STATUS, "f", "a"), "has no instances, and 'a' is named; leave out instance"),
    (lambda c: c.get_attributes("f", "Status"), "names is the str 'Status', and a list or tuple of str"),
    (lambda c: c.get_attributes("f", [STATUS]), "names[0] is Attribute('Status', str), and str is expected"),
    (lambda c: c.set_attribute("f", STATUS, "x"), "definition is the str 'f'"),
    (lambda c: c.set_attributes("f", {STATUS: "x"}), "attributes[0] is Attribute('Status', str), and str"),
    (lambda c: c.set_attributes("f", ["Status"]), "attributes is the list ['Status'], and dict is expected"),
    (lambda c: c.publish("f", PAYMENTS, 1), "channel is the str 'f', and Channel or ChannelMap is expected"),
    (lambda c: c.publish(STATUS, "f", 1), "channel is Attribute('Status', str)"),
    (lambda c: c.publish(PAYMENTS, 1, "f"), "flow_id is the int 1, and str is expected"),
    (lambda c: c.publish(INBOX, "f", 1), "ChannelMap('Inbox', int) has instances, and none is named"),
    (lambda c: c.wait_for_flow(SHOP), "flow_id is an instance of Shop, and str is expected"),
    (
        lambda c: c.wait_for_flow("f", 10),
        "timeout is the int 10, and timedelta is expected; write client.wait_for_flow(",
    ),
    (lambda c: c.wait_for_flow("f", timeout="10s"), "timeout is the str '10s', and timedelta is expected"),
    (lambda c: c.wait_for_step_completion(Work, "f"), "flow_id is the class Work, and str is expected"),
    (
        lambda c: c.wait_for_step_completion("f", Shop),
        "step is the class Shop, and a subclass of Step, Step or str",
    ),
    (lambda c: c.wait_for_step_completion("f", 1), "step is the int 1"),
    (lambda c: c.wait_for_attribute_equal("f", STATUS, "x"), "definition is the str 'f'"),
    (lambda c: c.describe_flow(None), "flow_id is None, and str is expected"),
    (lambda c: c.search_flows("status=running"), "query is the str 'status=running', and dict or None is expected"),
    (lambda c: c.search_flows({"status": "open"}), "Invalid enum value 'open' - at `query.status`"),
    (lambda c: c.search_flows({"state": "running"}), "unknown field `state`"),
    (lambda c: c.search_flows({"type": Shop}), "Expected `str | null`, got `type` - at `query.type`"),
    (lambda c: c.search_flows(page_size="10"), "page_size is the str '10', and int is expected"),
    (lambda c: c.search_flows(page_size=True), "page_size is the bool True"),
    (lambda c: c.skip_timer("f", "Work-1", 0), "condition_id is the int 0, and str or None is expected"),
    (
        lambda c: c.stop_flow("f", StopType.CANCEL),
        "options is <StopType.CANCEL: 'cancel'>, and StopFlowOptions or None",
    ),
    (
        lambda c: c.time_travel("f", "beginning"),
        "write client.time_travel('order-1', TimeTravelOptions.to_beginning())",
    ),
    (lambda c: c.update_flow_config("f", "orders"), "attribute_store_names is the str 'orders', and a list or tuple"),
    (lambda c: c.update_flow_config("f", FlowConfig()), "attribute_store_names is FlowConfig("),
]


@pytest.mark.spec("FL-10")
@pytest.mark.parametrize(("wrong", "message"), CLIENT_CALLS, ids=[message for _, message in CLIENT_CALLS])
def test_a_wrong_argument_of_a_client_is_told_before_any_call(client: Client, wrong: Call, message: str) -> None:
    with pytest.raises(Refused) as caught:
        wrong(client)
    assert caught.value.status == 400
    assert message in str(caught.value)
    assert client.search_flows().flows == []


DEFINITIONS: list[tuple[Call, str]] = [
    (lambda _: Attribute(str, "Status"), "Attribute: name is the class str, and str is expected; write Attribute('"),
    (lambda _: Attribute("Status", "str"), "Attribute: value_type is the str 'str', and a type is expected"),
    (lambda _: Attribute("Status", AttributeIndex(IndexType.TEXT)), "value_type is AttributeIndex("),
    (
        lambda _: Attribute("Status", str, "keyword"),
        "index is the str 'keyword', and AttributeIndex or None is expected",
    ),
    (lambda _: Attribute("Status", str, IndexType.TEXT), "and AttributeIndex or None is expected"),
    (
        lambda _: Attribute("Status", str, sync_to_attribute_store="yes"),
        "sync_to_attribute_store is the str 'yes', and bool",
    ),
    (lambda _: AttributeMap(dict, "Items"), "AttributeMap: name is the class dict"),
    (
        lambda _: AttributeIndex("keyword"),
        "type is the str 'keyword', and IndexType (KEYWORD, TEXT, INT, DOUBLE, BOOL",
    ),
    (lambda _: Channel(int, "Payments"), "Channel: name is the class int, and str is expected; write Channel('"),
    (lambda _: ChannelMap("Inbox", 3), "ChannelMap: value_type is the int 3, and a type is expected"),
    (
        lambda _: PROFILES.lock(7),
        "an instance of Profiles is named by text, not by 7; pass a name such as partition-001",
    ),
    (
        lambda _: PAYMENTS.for_n("three"),
        "count is the str 'three', and int is expected; write PAYMENTS.for_n(3, 'paid')",
    ),
    (lambda _: PAYMENTS.for_one(1), "condition_id is the int 1, and str is expected"),
    (lambda _: INBOX.for_one(3), "instance is the int 3, and str is expected"),
    (lambda _: Timer.by_duration(60), "Timer.by_duration: duration is the int 60, and timedelta is expected"),
    (lambda _: Timer.by_duration("late", SECOND), "duration is the str 'late'"),
    (lambda _: Wait.until(PAYMENTS), "condition is Channel('Payments', int), and ChannelCondition or TimerCondition"),
    (lambda _: Wait.any_of(PAYMENTS.for_one(), SECOND), "conditions is datetime.timedelta(seconds=1), and ChannelCond"),
    (lambda _: Wait.all_of([PAYMENTS.for_one()]), "conditions is the list [ChannelCondition("),
    (lambda _: Wait.any_combination_of(PAYMENTS.for_one()), "combinations is ChannelCondition("),
    (lambda _: RetryPolicy("1s"), "initial_interval is the str '1s', and timedelta is expected; write RetryPolicy("),
    (lambda _: RetryPolicy(maximum_attempts=2.5), "maximum_attempts is the float 2.5, and int is expected"),
    (lambda _: RetryPolicy(backoff_coefficient="2"), "backoff_coefficient is the str '2', and float is expected"),
    (lambda _: retry_after(30), "retry_after: delay is the int 30, and timedelta is expected"),
    (
        lambda _: StepOptions(execute_method_timeout="5s"),
        "execute_method_timeout is the str '5s', and timedelta or None",
    ),
    (lambda _: StepOptions(execute_retry=3), "execute_retry is the int 3, and RetryPolicy or None is expected"),
    (lambda _: StepOptions(wait_for_failure="proceed"), "and WaitForFailure (FAIL_FLOW, PROCEED) is expected"),
    (
        lambda _: StepOptions(execute_lock_attributes=STATUS),
        "execute_lock_attributes is Attribute('Status', str), and a list",
    ),
    (
        lambda _: StepOptions(execute_lock_attributes="Status"),
        "execute_lock_attributes is the str 'Status', and a list or",
    ),
    (
        lambda _: StepOptions(execute_lock_attributes=(PROFILES,)),
        "execute_lock_attributes[0] is AttributeMap('Profiles', int",
    ),
    (lambda _: StepOptions(execute_load_attribute_maps=(STATUS,)), "execute_load_attribute_maps[0] is Attribute("),
    (lambda _: rpc(timeout=5), "@rpc: timeout is the int 5, and timedelta or None is expected; write @rpc(timeout="),
    (
        lambda _: rpc(lock_attributes=STATUS),
        "lock_attributes is Attribute('Status', str), and a list or tuple of",
    ),
    (
        lambda _: rpc(lock_attributes=(STATUS, 7)),
        "lock_attributes[1] is the int 7, and AttributeLock, Attribute or str",
    ),
    (
        lambda _: rpc(load_attribute_map_instances=("Profiles/a",)),
        "load_attribute_map_instances[0] is the str 'Profiles/a'",
    ),
    (lambda _: rpc(is_transactional="no"), "is_transactional is the str 'no', and bool is expected"),
    (lambda _: rpc(lock_attribute=(STATUS,)), "@rpc has no option lock_attribute; did you mean lock_attributes"),
    (lambda _: rpc(speed=3), "@rpc has no option speed; it has name, timeout, lock_attributes,"),
    (lambda _: rpc("greet"), "'greet' is no method; put @rpc right above a def"),
    (
        lambda _: RPCInvokeOptions(("alice",)),
        "lock_attribute_map_instances[0] is the str 'alice', and AttributeLock is",
    ),
    (lambda _: RPCInvokeOptions(PROFILES.lock("a")), "lock_attribute_map_instances is AttributeLock("),
    (
        lambda _: RPCInvokeOptions(load_attribute_map_instances=[STATUS.lock()]),
        "and AttributeMapLoad is expected",
    ),
    (
        lambda _: StartFlowOptions(timeout="1h"),
        "StartFlowOptions: timeout is the str '1h', and timedelta or None",
    ),
    (
        lambda _: StartFlowOptions(timeout_policy="fail"),
        "timeout_policy is the str 'fail', and FlowTimeoutPolicy (FAIL, ",
    ),
    (
        lambda _: StartFlowOptions(id_reuse_policy=StopType.FAIL),
        "and IdReusePolicy (DEFAULT, ALLOW_IF_PREVIOUS_FAILED",
    ),
    (
        lambda _: StartFlowOptions(config_override=["orders"]),
        "config_override is the list ['orders'], and FlowConfig",
    ),
    (
        lambda _: FlowConfig("orders"),
        "attribute_store_names is the str 'orders', and a list or tuple of str is",
    ),
    (
        lambda _: StopFlowOptions("cancel"),
        "stop_type is the str 'cancel', and StopType (CANCEL, TERMINATE, FAIL) is expected",
    ),
    (lambda _: TimeTravelOptions("beginning"), "to is the str 'beginning', and TimeTravelTo (BEGINNING, EVENT"),
    (lambda _: TimeTravelOptions.to_step_type(Work), "target is the class Work"),
]


@pytest.mark.spec("FL-17")
@pytest.mark.parametrize(("wrong", "message"), DEFINITIONS, ids=[message for _, message in DEFINITIONS])
def test_a_definition_with_a_wrong_argument_is_refused_where_it_is_made(wrong: Call, message: str) -> None:
    with pytest.raises(Refused) as caught:
        wrong(None)
    assert isinstance(caught.value, ValueError)
    assert message in str(caught.value)


HANDLERS: list[tuple[Call, str]] = [
    (
        lambda _: STATUS.get("f"),
        "STATUS.get: context is the str 'f', and Context is expected; write STATUS.get(c",
    ),
    (lambda context: STATUS.set("x", context), "context is the str 'x'"),
    (lambda context: PROFILES.set("a", context, 1), "write PROFILES.set(context, 'partition-001', value)"),
    (lambda context: PROFILES.get(context, 7), "instance is the int 7, and str is expected"),
    (lambda context: PAYMENTS.publish(1, context), "PAYMENTS.publish: context is the int 1"),
    (lambda context: INBOX.publish(context, 1, "alice"), "instance is the int 1, and str is expected"),
    (lambda context: context.record_event({}, "shipped"), "context.record_event: name is the dict {}, and str is"),
    (lambda context: context.has_timer_fired("late"), "index is the str 'late', and int is expected"),
]


@pytest.mark.spec("FL-06")
@pytest.mark.parametrize(("wrong", "message"), HANDLERS, ids=[message for _, message in HANDLERS])
def test_a_wrong_argument_in_a_handler_is_told(wrong: Call, message: str) -> None:
    with pytest.raises(Refused) as caught:
        wrong(call(SHOP.get_persistence_schema()))
    assert message in str(caught.value)


@pytest.mark.spec("FL-10")
def test_right_arguments_are_taken_in_each_of_their_forms(client: Client) -> None:
    """Classes and instances, lists and tuples, positions and names, values of enums and their text."""
    client.register(Shop, SHOP)
    client.start_flow(flow=SHOP, flow_id="f", input="x", options=None)
    assert client.wait_for_step_completion("f", Work, timedelta(seconds=20)).status == "completed"
    assert client.wait_for_step_completion("f", "Work-1").step_execution_id == "Work-1"
    assert client.wait_for_step_completion("f", Work()).status == "completed"
    for status in (FlowStatus.COMPLETED, "completed"):
        assert [flow.flow_id for flow in client.search_flows({"type": "Shop", "status": status}).flows] == ["f"]
    assert client.get_attributes("f", ["Status"]) == client.get_attributes("f", ("Status",)) == {"Status": "x"}
    assert RetryPolicy(backoff_coefficient=2).backoff_coefficient == 2
    for value_type in (int | None, list[int], Any, None, dict[str, list[Any]]):
        assert Attribute("A", value_type).value_type == value_type


@pytest.mark.spec("FL-10")
def test_a_map_has_its_instances_waited_for(client: Client) -> None:
    client.start_flow(Open, "f")
    client.set_attribute(PROFILES, "f", 3, "a")
    client.wait_for_attribute_equal(PROFILES, "f", 3, instance="a")
    assert client.get_attribute(PROFILES, "f", "a") == 3


class Open(Flow[None]):
    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(PROFILES)


def test_a_step_whose_class_takes_arguments_is_listed_by_an_instance() -> None:
    class Bank(Step[int]):
        def __init__(self, url: str) -> None:
            self.url = url

    with pytest.raises(Refused, match="Step Bank cannot be made without arguments"):
        StepList.start_step(Bank)
    assert StepList.start_step(Bank("x")).start is not None


@dataclass
class Big:
    text: str


@checked("pay(3)")
def pay(cents: int) -> int:
    """Pay."""
    return cents


def test_a_checked_function_is_still_itself_and_a_long_value_is_cut() -> None:
    assert (pay.__name__, pay.__doc__, pay(cents=3)) == ("pay", "Pay.", 3)
    with pytest.raises(Refused) as caught:
        pay(Big("x" * 1000))  # type: ignore[arg-type]  # what is wrong is the test
    assert len(str(caught.value)) < 2 * MAX_SHOWN
    assert "cents is Big(text='xxx" in str(caught.value)


@checked("total([3])")
def total(cents: list[int]) -> int:
    return sum(cents)


def test_what_was_right_once_says_nothing_of_the_items_in_another_list() -> None:
    assert (total([3]), total([4])) == (3, 4)
    with pytest.raises(Refused, match=r"total: cents\[1\] is the str '5'"):
        total([4, "5"])  # type: ignore[list-item]  # what is wrong is the test


def test_what_was_right_once_says_nothing_of_another_class() -> None:
    assert (pay(3), pay(4)) == (3, 4)
    with pytest.raises(Refused, match="pay: cents is the bool True"):
        pay(True)
