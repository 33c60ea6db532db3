"""RPCs as they are declared and bound."""

from typing import Any

import pytest

from dex import (
    Context,
    Flow,
    FlowDefinitionError,
    InvalidStepResultError,
    RPCInvokeOptions,
    RPCResult,
    StepMovement,
    rpc,
)
from dex.engine.flows.access import Access
from dex.engine.flows.flowtype import FlowType
from tests.engine.flows.definitions.calls import call
from tests.engine.flows.definitions.directory import Directory, Profile

FLOW = Directory()
TYPE = FlowType.of(Directory)


@pytest.mark.spec("FL-05")
def test_a_bound_rpc_knows_all_that_its_call_needs() -> None:
    bound = FLOW.upsert
    assert (bound.flow, bound.flow_type, bound.name) == (FLOW, "Directory", "upsert")
    assert (bound.definition.input_type, bound.definition.output_type) == (Profile, Profile)
    assert bound.definition.takes_input
    assert not bound.definition.is_async
    assert bound.definition.__doc__ == "Add or replace a profile in the bucket `b1`."


def test_an_rpc_may_have_a_name_of_its_own_no_input_and_be_async() -> None:
    bound = FLOW.count
    assert (bound.name, bound.definition.takes_input, bound.definition.is_async) == ("Count", False, True)
    assert (bound.definition.input_type, bound.definition.output_type) == (type(None), int)


@pytest.mark.spec("FL-05")
def test_a_bound_rpc_runs_its_handler() -> None:
    access = Access(instances=frozenset({"Profiles/b1"}))
    context = call(TYPE.schema, {"Profiles/b1": {"a": Profile("a", "Ann")}}, access=access)
    assert FLOW.upsert(context, Profile("b", "Bob")) == RPCResult(Profile("b", "Bob"))
    assert FLOW.profiles.get(context, "b1") == {"a": Profile("a", "Ann"), "b": Profile("b", "Bob")}


@pytest.mark.spec("FL-05", "FL-07")
def test_loads_and_locks_of_declaration_and_invocation_are_united() -> None:
    options = RPCInvokeOptions(
        lock_attribute_map_instances=(FLOW.profiles.lock("a/b"),),
        load_attribute_map_instances=(FLOW.profiles.load("a/b"),),
        load_channel_map_instances=(FLOW.inbox.load("c"),),
    )
    assert TYPE.rpc_access(TYPE.rpc("upsert"), options) == Access(
        locks=frozenset({"Total", "Profiles/a%2Fb"}),
        instances=frozenset({"Profiles/a%2Fb"}),
        channels=frozenset({"News", "Inbox/c"}),
    )
    assert TYPE.rpc_access(TYPE.rpc("upsert"), None) == TYPE.rpc("upsert").access
    assert TYPE.rpc("upsert").access.locks
    assert not TYPE.rpc("Count").access.locks


@pytest.mark.spec("FL-05")
def test_an_invocation_cannot_load_what_is_not_declared() -> None:
    from dex import AttributeMap

    options = RPCInvokeOptions(load_attribute_map_instances=(AttributeMap("Profile", int).load("a"),))
    with pytest.raises(FlowDefinitionError, match=r"did you mean Profiles\?"):
        TYPE.rpc_access(TYPE.rpc("upsert"), options)


def test_an_unknown_rpc_is_told_the_nearest() -> None:
    with pytest.raises(FlowDefinitionError, match=r"Flow Directory has no RPC upser; did you mean upsert\?"):
        TYPE.rpc("upser")


@pytest.mark.parametrize("result", [None, 3, RPCResult(1, next_steps=["Charge"])])  # type: ignore[list-item]
def test_what_is_no_result_is_refused(result: Any) -> None:
    with pytest.raises(InvalidStepResultError, match="RPC Count"):
        FLOW.count.definition.check_result(result)


def test_a_result_may_start_steps() -> None:
    result = RPCResult(1, next_steps=(StepMovement.of("Charge", 3),))
    assert FLOW.count.definition.check_result(result) is result


def test_input_and_output_are_checked_by_their_annotations() -> None:
    from dex import ValueMappingError

    with pytest.raises(
        ValueMappingError, match=r"input of RPC upsert: the value at \$ is str, and Profile is expected"
    ):
        TYPE.rpc("upsert").encode_input("x")
    with pytest.raises(ValueMappingError, match="output of RPC Count"):
        TYPE.rpc("Count").encode_output("x")


class NoHints(Flow[None]):
    @rpc
    def echo(self, context, value):  # type: ignore[no-untyped-def]  # what has no types is the test
        return RPCResult(value)

    @rpc()
    def bare(self, context: Context) -> RPCResult:  # type: ignore[type-arg]  # as above
        return RPCResult()


def test_without_annotations_any_value_will_do() -> None:
    compiled = FlowType.of(NoHints)
    assert compiled.rpc("echo").definition.input_type is Any
    assert compiled.rpc("echo").definition.output_type is Any
    assert compiled.rpc("bare").definition.output_type is Any


class Greedy(Flow[None]):
    @rpc  # type: ignore[arg-type]  # the extra argument is the test
    def take(self, context: Context, one: int, two: int) -> RPCResult[int]:
        return RPCResult(one + two)


class Plain(Flow[None]):
    @rpc  # type: ignore[arg-type]  # the answer is the test
    def give(self, context: Context) -> int:
        return 1


class Lost(Flow[None]):
    @rpc
    def find(self, context: Context, what: "Nowhere") -> RPCResult[int]:  # type: ignore[name-defined]  # noqa: F821
        return RPCResult(1)


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (Greedy, "takes 3 arguments besides self; declare"),
        (Plain, "return an RPCResult"),
        (Lost, "annotation 'Nowhere' of Lost.find is no type"),
    ],
)
def test_a_handler_of_the_wrong_shape_is_refused(flow: type[Flow[Any]], message: str) -> None:
    with pytest.raises(FlowDefinitionError, match=message):
        FlowType.of(flow)
