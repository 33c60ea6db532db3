"""dex: a command line, a shell and an SDK for durable StateStores, Feeds and Flows.

The names below are the public SDK. They are imported when first used, so that `dex --version` and
shell completion stay as fast as a bare Python start.
"""

TYPE_CHECKING = False
"""As in typing, whose import would cost `dex --version` a fifth of its time."""

__version__ = "0.1.0"

if TYPE_CHECKING:
    from typing import Any

    from dex.engine.asyncclient import AsyncClient
    from dex.engine.client import Client, connect
    from dex.engine.flows.attribute import (
        Attribute,
        AttributeIndex,
        AttributeLock,
        AttributeMap,
        AttributeMapLoad,
        IndexType,
    )
    from dex.engine.flows.channel import Channel, ChannelMap, ChannelMapLoad, ChannelMessage
    from dex.engine.flows.context import Context
    from dex.engine.flows.decision import (
        StepDecision,
        StepMovement,
        dead_end,
        force_complete,
        force_complete_if_channels_empty,
        force_fail,
        go_to,
        go_to_many,
        graceful_complete,
    )
    from dex.engine.flows.flow import Flow
    from dex.engine.flows.options import (
        FlowConfig,
        FlowStatus,
        FlowTimeoutPolicy,
        IdReusePolicy,
        StartFlowOptions,
        StopFlowOptions,
        StopType,
        TimeTravelOptions,
        TimeTravelTo,
    )
    from dex.engine.flows.registry import Registry
    from dex.engine.flows.retry import RetryPolicy, retry_after
    from dex.engine.flows.rpc import BoundRPC, RPCInvokeOptions, RPCResult, rpc
    from dex.engine.flows.schema import PersistenceSchema
    from dex.engine.flows.step import Step, StepList, StepOptions, WaitForFailure
    from dex.engine.flows.wait import ChannelCondition, Condition, Timer, TimerCondition, Wait
    from dex.engine.statestore import Extractor, StateStore
    from dex.wcl.commands import Freshness, StoreRow, StoreRows
    from dex.wcl.errors import (
        AttributeMapNotLoaded,
        AttributeMapNotLoadedError,
        ChannelMessageNotFoundError,
        Conflict,
        DexError,
        FailedPrecondition,
        FlowAlreadyStartedError,
        FlowClosingError,
        FlowDefinitionError,
        FlowNotActiveOrNotFoundError,
        FlowNotFoundError,
        InvalidStepResultError,
        LongPollTimeoutError,
        NotFound,
        Refused,
        RequestTimeoutError,
        RetryAfterError,
        RPCLockConflict,
        RpcLockConflictError,
        Unavailable,
        ValueMappingError,
        WclSyntaxError,
        WorkerInvocationError,
    )

_HOME = {
    "AsyncClient": "dex.engine.asyncclient",
    "Client": "dex.engine.client",
    "connect": "dex.engine.client",
    "Attribute": "dex.engine.flows.attribute",
    "AttributeIndex": "dex.engine.flows.attribute",
    "AttributeLock": "dex.engine.flows.attribute",
    "AttributeMap": "dex.engine.flows.attribute",
    "AttributeMapLoad": "dex.engine.flows.attribute",
    "IndexType": "dex.engine.flows.attribute",
    "Channel": "dex.engine.flows.channel",
    "ChannelMap": "dex.engine.flows.channel",
    "ChannelMapLoad": "dex.engine.flows.channel",
    "ChannelMessage": "dex.engine.flows.channel",
    "Context": "dex.engine.flows.context",
    "StepDecision": "dex.engine.flows.decision",
    "StepMovement": "dex.engine.flows.decision",
    "dead_end": "dex.engine.flows.decision",
    "force_complete": "dex.engine.flows.decision",
    "force_complete_if_channels_empty": "dex.engine.flows.decision",
    "force_fail": "dex.engine.flows.decision",
    "go_to": "dex.engine.flows.decision",
    "go_to_many": "dex.engine.flows.decision",
    "graceful_complete": "dex.engine.flows.decision",
    "Flow": "dex.engine.flows.flow",
    "FlowConfig": "dex.engine.flows.options",
    "FlowStatus": "dex.engine.flows.options",
    "FlowTimeoutPolicy": "dex.engine.flows.options",
    "IdReusePolicy": "dex.engine.flows.options",
    "StartFlowOptions": "dex.engine.flows.options",
    "StopFlowOptions": "dex.engine.flows.options",
    "StopType": "dex.engine.flows.options",
    "TimeTravelOptions": "dex.engine.flows.options",
    "TimeTravelTo": "dex.engine.flows.options",
    "Registry": "dex.engine.flows.registry",
    "RetryPolicy": "dex.engine.flows.retry",
    "retry_after": "dex.engine.flows.retry",
    "BoundRPC": "dex.engine.flows.rpc",
    "RPCInvokeOptions": "dex.engine.flows.rpc",
    "RPCResult": "dex.engine.flows.rpc",
    "rpc": "dex.engine.flows.rpc",
    "PersistenceSchema": "dex.engine.flows.schema",
    "Step": "dex.engine.flows.step",
    "StepList": "dex.engine.flows.step",
    "StepOptions": "dex.engine.flows.step",
    "WaitForFailure": "dex.engine.flows.step",
    "ChannelCondition": "dex.engine.flows.wait",
    "Condition": "dex.engine.flows.wait",
    "Timer": "dex.engine.flows.wait",
    "TimerCondition": "dex.engine.flows.wait",
    "Wait": "dex.engine.flows.wait",
    "Extractor": "dex.engine.statestore",
    "StateStore": "dex.engine.statestore",
    "Freshness": "dex.wcl.commands",
    "StoreRow": "dex.wcl.commands",
    "StoreRows": "dex.wcl.commands",
    "AttributeMapNotLoaded": "dex.wcl.errors",
    "AttributeMapNotLoadedError": "dex.wcl.errors",
    "ChannelMessageNotFoundError": "dex.wcl.errors",
    "Conflict": "dex.wcl.errors",
    "DexError": "dex.wcl.errors",
    "FailedPrecondition": "dex.wcl.errors",
    "FlowAlreadyStartedError": "dex.wcl.errors",
    "FlowClosingError": "dex.wcl.errors",
    "FlowDefinitionError": "dex.wcl.errors",
    "FlowNotActiveOrNotFoundError": "dex.wcl.errors",
    "FlowNotFoundError": "dex.wcl.errors",
    "InvalidStepResultError": "dex.wcl.errors",
    "LongPollTimeoutError": "dex.wcl.errors",
    "NotFound": "dex.wcl.errors",
    "RPCLockConflict": "dex.wcl.errors",
    "Refused": "dex.wcl.errors",
    "RequestTimeoutError": "dex.wcl.errors",
    "RetryAfterError": "dex.wcl.errors",
    "RpcLockConflictError": "dex.wcl.errors",
    "Unavailable": "dex.wcl.errors",
    "ValueMappingError": "dex.wcl.errors",
    "WclSyntaxError": "dex.wcl.errors",
    "WorkerInvocationError": "dex.wcl.errors",
}

__all__ = [
    "AsyncClient",
    "Attribute",
    "AttributeIndex",
    "AttributeLock",
    "AttributeMap",
    "AttributeMapLoad",
    "AttributeMapNotLoaded",
    "AttributeMapNotLoadedError",
    "BoundRPC",
    "Channel",
    "ChannelCondition",
    "ChannelMap",
    "ChannelMapLoad",
    "ChannelMessage",
    "ChannelMessageNotFoundError",
    "Client",
    "Condition",
    "Conflict",
    "Context",
    "DexError",
    "Extractor",
    "FailedPrecondition",
    "Flow",
    "FlowAlreadyStartedError",
    "FlowClosingError",
    "FlowConfig",
    "FlowDefinitionError",
    "FlowNotActiveOrNotFoundError",
    "FlowNotFoundError",
    "FlowStatus",
    "FlowTimeoutPolicy",
    "Freshness",
    "IdReusePolicy",
    "IndexType",
    "InvalidStepResultError",
    "LongPollTimeoutError",
    "NotFound",
    "PersistenceSchema",
    "RPCInvokeOptions",
    "RPCLockConflict",
    "RPCResult",
    "Refused",
    "Registry",
    "RequestTimeoutError",
    "RetryAfterError",
    "RetryPolicy",
    "RpcLockConflictError",
    "StartFlowOptions",
    "StateStore",
    "Step",
    "StepDecision",
    "StepList",
    "StepMovement",
    "StepOptions",
    "StopFlowOptions",
    "StopType",
    "StoreRow",
    "StoreRows",
    "TimeTravelOptions",
    "TimeTravelTo",
    "Timer",
    "TimerCondition",
    "Unavailable",
    "ValueMappingError",
    "Wait",
    "WaitForFailure",
    "WclSyntaxError",
    "WorkerInvocationError",
    "__version__",
    "connect",
    "dead_end",
    "force_complete",
    "force_complete_if_channels_empty",
    "force_fail",
    "go_to",
    "go_to_many",
    "graceful_complete",
    "retry_after",
    "rpc",
]


def __getattr__(name: str) -> "Any":
    """Import a public name from its home on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'dex' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
