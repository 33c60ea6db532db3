"""The names that Flow files written for the public SDK import."""

import inspect
from typing import Any

import dex

NAMES = """
    Attribute AttributeIndex AttributeMap IndexType Channel ChannelMap Timer PersistenceSchema
    Flow Step StepList StepOptions StepMovement StepDecision RetryPolicy RetryAfterError retry_after Wait
    go_to go_to_many graceful_complete force_complete force_complete_if_channels_empty force_fail dead_end
    rpc RPCResult RPCInvokeOptions Context
    StartFlowOptions FlowConfig IdReusePolicy FlowTimeoutPolicy StopType StopFlowOptions TimeTravelOptions
    FlowAlreadyStartedError FlowNotFoundError FlowNotActiveOrNotFoundError FlowClosingError RpcLockConflictError
    WorkerInvocationError LongPollTimeoutError RequestTimeoutError ChannelMessageNotFoundError
    AttributeMapNotLoadedError FlowDefinitionError InvalidStepResultError ValueMappingError RPCLockConflict DexError
"""


def test_every_name_is_exported() -> None:
    assert set(NAMES.split()) - set(dex.__all__) == set()


def test_arguments_stand_in_the_sdks_order() -> None:
    """Flow files pass them by position."""
    signatures: dict[Any, list[str]] = {
        dex.Attribute: ["name", "value_type", "index", "sync_to_attribute_store", "hard_delete_on_null"],
        dex.AttributeMap: ["name", "value_type", "index", "sync_to_attribute_store", "hard_delete_on_null"],
        dex.AttributeIndex: ["type", "index_key"],
        dex.Channel: ["name", "value_type"],
        dex.ChannelMap: ["name", "value_type"],
        dex.RPCResult: ["output", "next_steps"],
        dex.RPCInvokeOptions: [
            "lock_attribute_map_instances",
            "load_attribute_map_instances",
            "load_channel_map_instances",
        ],
        dex.RetryPolicy: [
            "initial_interval",
            "backoff_coefficient",
            "maximum_interval",
            "maximum_attempts",
            "total_duration",
        ],
        dex.Timer.by_duration: ["duration", "condition_id"],
        dex.Channel.delete: ["self", "context", "message_id"],
    }
    assert {name: list(inspect.signature(name).parameters) for name in signatures} == signatures
