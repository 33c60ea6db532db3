"""The errors of Flows."""

import pytest

import dex
from dex.wcl.errors import InvalidCommand


@pytest.mark.parametrize(
    ("error", "base", "status"),
    [
        (dex.FlowNotFoundError, dex.NotFound, 404),
        (dex.FlowNotActiveOrNotFoundError, dex.NotFound, 404),
        (dex.ChannelMessageNotFoundError, dex.NotFound, 404),
        (dex.FlowAlreadyStartedError, dex.Conflict, 409),
        (dex.RPCLockConflict, dex.Conflict, 409),
        (dex.FlowClosingError, dex.FailedPrecondition, 412),
        (dex.LongPollTimeoutError, dex.Unavailable, 503),
        (dex.RequestTimeoutError, dex.Unavailable, 503),
        (dex.AttributeMapNotLoadedError, dex.Refused, 400),
        (dex.FlowDefinitionError, InvalidCommand, 400),
        (dex.ValueMappingError, InvalidCommand, 400),
        (dex.WorkerInvocationError, dex.DexError, 400),
        (dex.InvalidStepResultError, dex.WorkerInvocationError, 400),
    ],
)
def test_each_error_is_of_its_kind(error: type[dex.DexError], base: type[dex.DexError], status: int) -> None:
    raised = error("it failed", "do this", flow_id="f1")
    assert isinstance(raised, base)
    assert raised.status == status
    assert raised.flow_id == "f1"
    assert str(raised) == "it failed; do this"


@pytest.mark.spec("FL-07")
def test_a_lock_conflict_has_two_names_and_one_reason() -> None:
    assert dex.RpcLockConflictError is dex.RPCLockConflict
    assert dex.RPCLockConflict("held", locks=["Total"]).as_dict() == {
        "kind": "conflict",
        "message": "held",
        "remedy": "",
        "reason": "lock",
        "locks": ["Total"],
    }
