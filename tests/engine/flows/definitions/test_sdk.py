"""The names that Flow files written for the public SDK import."""

import inspect
from datetime import timedelta
from enum import Enum
from operator import attrgetter

import pytest

import dex
from dex.engine.flows.rpc import RPCOptions
from tests.engine.flows.definitions.calls import BEGAN, call

NAMES = """
    Attribute AttributeIndex AttributeMap IndexType Channel ChannelMap Timer PersistenceSchema
    Flow Step StepList StepOptions StepMovement StepDecision RetryPolicy RetryAfterError retry_after Wait
    go_to go_to_many graceful_complete force_complete force_complete_if_channels_empty force_fail dead_end
    rpc RPCResult RPCInvokeOptions Context
    StartFlowOptions FlowConfig IdReusePolicy FlowTimeoutPolicy StopType StopFlowOptions TimeTravelOptions
    Client AsyncClient
    FlowAlreadyStartedError FlowNotFoundError FlowNotActiveOrNotFoundError FlowClosingError RpcLockConflictError
    WorkerInvocationError LongPollTimeoutError RequestTimeoutError ChannelMessageNotFoundError
    AttributeMapNotLoadedError FlowDefinitionError InvalidStepResultError ValueMappingError RPCLockConflict DexError
"""


def test_every_name_is_exported() -> None:
    assert set(NAMES.split()) - set(dex.__all__) == set()


DEFINITION = "name, value_type, index=None, sync_to_attribute_store=False, hard_delete_on_null=False"
SIGNATURES = {
    "Attribute": DEFINITION,
    "Attribute.get": "context",
    "Attribute.set": "context, value",
    "Attribute.delete": "context",
    "Attribute.lock": "",
    "AttributeMap": DEFINITION,
    "AttributeMap.get": "context, instance",
    "AttributeMap.set": "context, instance, value",
    "AttributeMap.delete": "context, instance",
    "AttributeMap.lock": "instance",
    "AttributeMap.load": "instance",
    "AttributeMap.instance_keys": "context",
    "AttributeMap.size": "context",
    "AttributeIndex": "type, index_key=''",
    "Channel": "name, value_type",
    "Channel.publish": "context, value",
    "Channel.delete": "context, message_id",
    "Channel.size": "context",
    "Channel.pending_messages": "context",
    "Channel.results": "context",
    "Channel.for_one": "condition_id=''",
    "Channel.for_n": "count, condition_id=''",
    "Channel.at_least": "minimum, condition_id=''",
    "Channel.at_most": "maximum, condition_id=''",
    "Channel.for_range": "minimum, maximum, condition_id=''",
    "ChannelMap": "name, value_type",
    "ChannelMap.publish": "context, instance, value",
    "ChannelMap.delete": "context, instance, message_id",
    "ChannelMap.size": "context, instance",
    "ChannelMap.pending_messages": "context, instance",
    "ChannelMap.results": "context, instance",
    "ChannelMap.load": "instance",
    "ChannelMap.for_one": "instance, condition_id=''",
    "ChannelMap.for_n": "instance, count, condition_id=''",
    "ChannelMap.at_least": "instance, minimum, condition_id=''",
    "ChannelMap.at_most": "instance, maximum, condition_id=''",
    "ChannelMap.for_range": "instance, minimum, maximum, condition_id=''",
    "Timer.by_duration": "duration, condition_id=''",
    "PersistenceSchema.of": "*definitions",
    "Flow.get_flow_type": "",
    "Flow.get_steps": "",
    "Flow.get_persistence_schema": "",
    "Flow.handle_timeout": "context",
    "StepList.empty": "",
    "StepList.start_step": "step",
    "StepList.other_steps": "*steps",
    "StepList.without_start_step": "*steps",
    "Step.wait_for": "context, input",
    "Step.execute": "context, input",
    "Step.get_step_type": "",
    "Step.get_step_options": "",
    "StepOptions": "wait_for_method_timeout=None, execute_method_timeout=None, wait_for_retry=None, execute_retry=None,"
    " wait_for_failure=WaitForFailure.FAIL_FLOW,"
    " wait_for_lock_attributes=(), wait_for_load_attribute_maps=(), wait_for_load_attribute_map_instances=(),"
    " wait_for_load_channels=(),"
    " execute_lock_attributes=(), execute_load_attribute_maps=(), execute_load_attribute_map_instances=(),"
    " execute_load_channels=(), execute_failure_step=None",
    "StepOptions.on_execute_failure_proceed_to": "step",
    "RetryPolicy": "initial_interval=0:00:01, backoff_coefficient=2.0, maximum_interval=0:01:40, maximum_attempts=0,"
    " total_duration=0:00:00",
    "retry_after": "delay, message=''",
    "RetryAfterError": "delay, message=''",
    "Wait.skip_immediately": "",
    "Wait.until": "condition",
    "Wait.all_of": "*conditions",
    "Wait.any_of": "*conditions",
    "Wait.any_combination_of": "*combinations",
    "go_to": "step, input=None",
    "go_to_many": "*movements",
    "graceful_complete": "output=None",
    "force_complete": "output=None",
    "force_complete_if_channels_empty": "output, fallback",
    "force_fail": "reason=''",
    "dead_end": "",
    "StepMovement.of": "step, input=None",
    "RPCResult": "output=None, next_steps=()",
    "RPCInvokeOptions": "lock_attribute_map_instances=(), load_attribute_map_instances=(),"
    " load_channel_map_instances=()",
    "Context.has_timer_fired": "index=0",
    "Context.set_step_execution_local": "name, value",
    "Context.get_step_execution_local": "name, value_type=typing.Any",
    "Context.record_event": "name, value=None",
    "Client.start_flow": "flow, flow_id, input=None, options=None",
    "Client.invoke_rpc": "rpc, flow_id, input=None, options=None",
    "Client.get_attribute": "definition, flow_id, instance=None",
    "Client.get_attributes": "flow_id, names=(), run_id=None",
    "Client.set_attribute": "definition, flow_id, value, instance=None",
    "Client.set_attributes": "flow_id, attributes",
    "Client.publish": "channel, flow_id, *messages, instance=None",
    "Client.wait_for_flow": "flow_id, timeout=0:01:00, run_id=None",
    "Client.wait_for_step_completion": "flow_id, step, timeout=0:01:00",
    "Client.wait_for_attribute_equal": "definition, flow_id, value, timeout=0:01:00, instance=None",
    "Client.describe_flow": "flow_id, run_id=None",
    "Client.search_flows": "query=None, page_size=100, page_token=None",
    "Client.skip_timer": "flow_id, step_execution_id, condition_id=None, index=0",
    "Client.stop_flow": "flow_id, options=None",
    "Client.time_travel": "flow_id, options",
    "Client.update_flow_config": "flow_id, attribute_store_names",
    "StartFlowOptions": "timeout=None, timeout_policy=FlowTimeoutPolicy.FAIL, start_delay=None,"
    " id_reuse_policy=IdReusePolicy.DEFAULT, retry_policy=None, config_override=None, ignore_already_started=False,"
    " request_id=None, attributes=<factory>",
    "StartFlowOptions.with_attribute": "definition, value",
    "FlowConfig": "attribute_store_names=()",
    "StopFlowOptions": "stop_type=StopType.CANCEL, reason='', run_id=None",
    "TimeTravelOptions.to_beginning": "reason='', run_id=None",
    "TimeTravelOptions.to_event": "event, reason='', run_id=None",
    "TimeTravelOptions.to_time": "time, reason='', run_id=None",
    "TimeTravelOptions.to_step_type": "step_type, reason='', run_id=None",
    "TimeTravelOptions.to_step_execution": "step_execution_id, reason='', run_id=None",
}


def written(parameter: inspect.Parameter) -> str:
    """Give a parameter as in a call: its name, and its default."""
    name = "*" + parameter.name if parameter.kind is inspect.Parameter.VAR_POSITIONAL else parameter.name
    if parameter.default is inspect.Parameter.empty:
        return name
    default = parameter.default
    if isinstance(default, Enum):
        return f"{name}={type(default).__name__}.{default.name}"
    return f"{name}={default if isinstance(default, timedelta) else repr(default)}"


@pytest.mark.spec("FL-17")
@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_and_their_defaults_are_the_sdks(name: str) -> None:
    """Flow files pass them by position and by name, and leave them out."""
    parameters = inspect.signature(attrgetter(name)(dex)).parameters.values()
    assert ", ".join(written(one) for one in parameters if one.name != "self") == SIGNATURES[name]


@pytest.mark.spec("FL-17")
def test_an_rpc_may_have_each_of_the_sdks_options() -> None:
    options = {
        "name": None,
        "timeout": None,
        "lock_attributes": (),
        "is_transactional": False,
        "load_attribute_maps": (),
        "load_attribute_map_instances": (),
        "load_channels": (),
    }
    assert dex.rpc(**options)(lambda self, context: dex.RPCResult()).options == RPCOptions() == RPCOptions(**options)


@pytest.mark.spec("FL-17")
def test_a_handlers_context_has_what_the_sdks_has() -> None:
    context = call(dex.PersistenceSchema.of())
    facts = ("flow_id", "run_id", "step_execution_id", "attempt", "recovery_error", "is_cancellation_requested")
    assert [getattr(context, fact) for fact in facts] == ["f1", "r1", "", 1, None, False]
    assert context.first_attempt_at == BEGAN


@pytest.mark.spec("FL-17")
@pytest.mark.parametrize(
    ("kind", "members"),
    [
        (
            dex.IdReusePolicy,
            "DEFAULT ALLOW_IF_PREVIOUS_FAILED ALLOW_IF_NOT_RUNNING ALLOW_TERMINATE_IF_RUNNING DISALLOW",
        ),
        (dex.FlowTimeoutPolicy, "FAIL CANCEL HANDLER"),
        (dex.StopType, "CANCEL TERMINATE FAIL"),
    ],
)
def test_policies_have_the_sdks_members(kind: type[Enum], members: str) -> None:
    assert " ".join(kind.__members__) == members


@pytest.mark.spec("FL-17")
def test_errors_are_dex_errors_and_a_lock_conflict_has_both_names() -> None:
    errors = [name for name in NAMES.split() if name.endswith("Error")]
    assert [name for name in errors if not issubclass(getattr(dex, name), dex.DexError)] == []
    assert dex.RpcLockConflictError is dex.RPCLockConflict
