"""What handlers decide."""

from typing import Any

import pytest

from dex import (
    InvalidStepResultError,
    Step,
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
from dex.engine.flows.decision import (
    DeadEnd,
    ForceComplete,
    ForceCompleteIfChannelsEmpty,
    ForceFail,
    GoTo,
    GracefulComplete,
    check_decision,
)


class Charge(Step[int]):
    def __init__(self, rate: int) -> None:
        self.rate = rate


class Ship(Step[None]):
    def get_step_type(self) -> str:
        return "ship"


WRONG: Any = int


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize(
    ("decision", "meaning"),
    [
        (go_to(Charge, 3), GoTo((StepMovement("Charge", 3),))),
        (go_to(Charge(1), 3), GoTo((StepMovement("Charge", 3),))),
        (go_to("Charge"), GoTo((StepMovement("Charge"),))),
        (go_to(Ship), GoTo((StepMovement("ship"),))),
        (
            go_to_many(StepMovement.of(Charge, 1), StepMovement.of(Ship)),
            GoTo((StepMovement("Charge", 1), StepMovement("ship"))),
        ),
        (graceful_complete("x"), GracefulComplete("x")),
        (force_complete(), ForceComplete(None)),
        (force_fail("why"), ForceFail("why")),
        (dead_end(), DeadEnd()),
        (force_complete_if_channels_empty(1, dead_end()), ForceCompleteIfChannelsEmpty(1, DeadEnd())),
        (
            force_complete_if_channels_empty(1, StepMovement.of(Ship)),
            ForceCompleteIfChannelsEmpty(1, GoTo((StepMovement("ship"),))),
        ),
    ],
)
def test_a_decision_is_plain_data(decision: StepDecision, meaning: StepDecision) -> None:
    assert decision == meaning
    assert check_decision(decision, "Charge.execute") is decision


@pytest.mark.parametrize(
    "decide",
    [
        lambda: go_to(WRONG),
        lambda: go_to(WRONG()),
        go_to_many,
        lambda: go_to_many(WRONG),
        lambda: force_complete_if_channels_empty(1, WRONG),
    ],
)
@pytest.mark.spec("FL-08")
def test_a_decision_for_no_step_is_refused(decide: Any) -> None:
    with pytest.raises(InvalidStepResultError):
        decide()


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize("result", [None, "go", StepDecision(), StepMovement("Charge")])
def test_what_is_no_decision_is_refused(result: Any) -> None:
    with pytest.raises(InvalidStepResultError, match=r"Charge\.execute returned .*; return a StepDecision") as caught:
        check_decision(result, "Charge.execute")
    assert caught.value.handler == "Charge.execute"
