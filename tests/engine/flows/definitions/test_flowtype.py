"""Flows as the runtime knows them."""

from collections.abc import Callable
from datetime import timedelta
from types import new_class
from typing import Any

import pytest

from dex import (
    Attribute,
    AttributeIndex,
    AttributeMap,
    Channel,
    Context,
    Flow,
    FlowDefinitionError,
    IndexType,
    InvalidStepResultError,
    PersistenceSchema,
    RPCResult,
    Step,
    StepDecision,
    StepList,
    StepOptions,
    ValueMappingError,
    Wait,
    dead_end,
    rpc,
)
from dex.engine.flows.access import Access
from dex.engine.flows.flowtype import FlowType
from tests.engine.flows.definitions.calls import BEGAN, call
from tests.engine.flows.definitions.directory import Directory
from tests.engine.flows.definitions.orders import PAID, Order, OrderFlow

ORDERS = FlowType.of(OrderFlow)


@pytest.mark.spec("FL-08")
def test_the_steps_of_a_flow_are_known_by_their_types() -> None:
    assert list(ORDERS.steps) == ["AwaitPayment", "Ship", "Refund"]
    assert ORDERS.start_step is ORDERS.step("AwaitPayment")
    assert [step.waits for step in ORDERS.steps.values()] == [True, False, False]
    assert [step.input_type for step in ORDERS.steps.values()] == [Order, str, Order]
    assert ORDERS.step("AwaitPayment").options.execute_failure_step == "Refund"


@pytest.mark.spec("FL-05", "FL-08")
def test_each_method_of_a_step_has_its_own_locks_and_loads() -> None:
    step = ORDERS.step("AwaitPayment")
    assert step.wait_for_access == Access()
    assert step.execute_access == Access(locks=frozenset({"State"}), channels=frozenset({"Paid"}))


@pytest.mark.spec("FL-01")
def test_a_flow_may_have_rpcs_only() -> None:
    compiled = FlowType.of(Directory)
    assert (compiled.steps, compiled.start_step, compiled.input_type) == ({}, None, type(None))
    assert set(compiled.rpcs) == {"upsert", "Count"}
    assert not compiled.has_timeout_handler
    assert ORDERS.has_timeout_handler


def test_a_class_is_compiled_once() -> None:
    assert FlowType.of(OrderFlow) is ORDERS


@pytest.mark.spec("FL-03")
def test_inputs_are_stored_by_their_types() -> None:
    order = Order("o7", 1250)
    assert ORDERS.step("AwaitPayment").decode_input(ORDERS.encode_input(order)) == order
    with pytest.raises(ValueMappingError, match="Flow OrderFlow needs an input: Order"):
        ORDERS.encode_input(None)
    with pytest.raises(ValueMappingError, match="input of Step Ship"):
        ORDERS.step("Ship").encode_input(order)


@pytest.mark.spec("FL-08")
def test_a_step_is_run_through_its_context() -> None:
    step = ORDERS.step("AwaitPayment").step
    context = call(ORDERS.schema, step_execution_id="AwaitPayment-1", attempt=2, timers_fired=(False,))
    wait = ORDERS.step("AwaitPayment").check_wait(step.wait_for(context, Order("o7", 5)))
    assert wait.conditions[0] == PAID.for_one("paid")
    assert context.get_step_execution_local("asked", int) == 5
    assert ORDERS.step("AwaitPayment").check_decision(step.execute(context, Order("o7", 5))) is not None
    assert (context.step_execution_id, context.attempt, context.first_attempt_at) == ("AwaitPayment-1", 2, BEGAN)
    assert set(context.workspace.writes) == {"State"}


def test_a_context_tells_of_its_timers_locals_events_and_end() -> None:
    context = call(ORDERS.schema, timers_fired=(False, True), cancellation_requested=lambda: True)
    assert [context.has_timer_fired(index) for index in (0, 1, 2, -1)] == [False, True, False, False]
    assert context.is_cancellation_requested
    with pytest.raises(KeyError):
        context.get_step_execution_local("nothing")
    context.record_event("seen", 1)
    assert [name for name, _ in context.workspace.events] == ["seen"]


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize("result", [None, dead_end(), PAID.for_one()])
def test_what_is_no_wait_is_refused(result: Any) -> None:
    with pytest.raises(InvalidStepResultError, match="return a Wait"):
        ORDERS.step("AwaitPayment").check_wait(result)


@pytest.mark.spec("FL-08")
def test_a_wait_for_an_undeclared_channel_is_refused() -> None:
    with pytest.raises(FlowDefinitionError, match="Channel Payed is not declared"):
        ORDERS.step("AwaitPayment").check_wait(Wait.until(Channel("Payed", int).for_one()))


def test_an_unknown_step_is_told_the_nearest() -> None:
    with pytest.raises(FlowDefinitionError, match=r"has no Step Shipp; did you mean Ship\?"):
        ORDERS.step("Shipp")


class Work(Step[int]):
    def execute(self, context: Context, input: int) -> StepDecision:
        return dead_end()


class Elsewhere(Work):
    def get_step_options(self) -> StepOptions:
        return StepOptions().on_execute_failure_proceed_to("Cleanup")


class Locking(Work):
    def get_step_options(self) -> StepOptions:
        return StepOptions(execute_lock_attributes=("Totals",))


class Hasty(Work):
    def get_step_options(self) -> StepOptions:
        return StepOptions(execute_method_timeout=timedelta(0))


class Idle(Step[int]):
    pass


class Narrow(Step[int]):
    def execute(self, context: Context) -> StepDecision:  # type: ignore[override]  # the missing input is the test
        return dead_end()


TOTAL = Attribute("Total", int)
ITEMS = AttributeMap("Items", int)


def flow_of(*steps: Any, schema: Callable[[], Any] = PersistenceSchema.of, **members: Any) -> type[Flow[Any]]:
    members["get_steps"] = lambda _: StepList.without_start_step(*steps)
    members["get_persistence_schema"] = lambda _: schema()
    return new_class("Broken", (Flow[int],), exec_body=lambda body: body.update(members))


def needs_rate(self: Any, rate: int) -> None:
    self.rate = rate


def answer(self: Any, context: Context) -> RPCResult[int]:
    return RPCResult(1)


def lock(*locks: Any) -> Any:
    return rpc(name="Lock", lock_attributes=locks)(answer)


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (flow_of(Work, Work), "Flow Broken: two Steps have the type Work"),
        (flow_of(Elsewhere), "Step Elsewhere goes on after a failure with Cleanup; there are Elsewhere"),
        (flow_of(Hasty), "the timeout of Hasty.execute is "),
        (flow_of(late=rpc(timeout=timedelta(0))(answer)), "the timeout of RPC answer is 0:00:00; pass a timedelta"),
        (flow_of(Idle), "Step Idle has no execute"),
        (flow_of(Narrow), "Narrow.execute takes 1 arguments besides self"),
        (flow_of(Locking, schema=lambda: PersistenceSchema.of(TOTAL)), r"Totals is not declared; did you mean Total\?"),
        (flow_of(3), "3 is no Step"),
        (flow_of(schema=lambda: PersistenceSchema.of(TOTAL, TOTAL)), "two definitions are named Total"),
        (flow_of(schema=lambda: PersistenceSchema.of(TOTAL, AttributeMap("Total", int))), "are named Total"),
        (flow_of(schema=lambda: PersistenceSchema.of("Total")), "'Total' is no Attribute"),  # type: ignore[arg-type]
        (flow_of(schema=lambda: PersistenceSchema.of(Attribute("A", Flow))), "type of Attribute A cannot be stored"),
        (flow_of(schema=lambda: [TOTAL]), "get_persistence_schema returns no schema"),
        (flow_of(locked=lock("Total")), "RPC Lock locks or loads: Attribute Total is not declared"),
        (flow_of(locked=lock("Items"), schema=lambda: PersistenceSchema.of(ITEMS)), "name an instance: Items/INSTANCE"),
        (flow_of(one=lock(), two=lock()), "two RPCs are named Lock"),
        (flow_of(get_flow_type=lambda _: ""), "Flow type cannot be blank"),
        (flow_of(__init__=needs_rate), "register an instance of it"),
    ],
)
def test_a_flow_that_contradicts_itself_is_refused(flow: type[Flow[Any]], message: str) -> None:
    with pytest.raises(FlowDefinitionError, match=message):
        FlowType.of(flow)


def test_two_attributes_cannot_share_an_index() -> None:
    index = AttributeIndex(IndexType.INT, "size")
    with pytest.raises(FlowDefinitionError, match="A and B have one index key, size"):
        PersistenceSchema.of(Attribute("A", int, index), Attribute("B", int, index))


def test_channels_and_attributes_have_names_of_their_own() -> None:
    schema = PersistenceSchema.of(Attribute("Same", int), Channel("Same", int))
    assert isinstance(schema.attribute("Same"), Attribute)
    assert isinstance(schema.channel("Same"), Channel)
