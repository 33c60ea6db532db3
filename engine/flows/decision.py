"""What a handler decides: the next Steps, or how the Flow ends (spec: FL-08). Plain data."""

from typing import Any, Protocol, TypeAlias

import msgspec

from dex.wcl.errors import InvalidStepResultError


class NamedStep(Protocol):
    """A Step, as far as naming it goes."""

    def get_step_type(self) -> str:
        """Give the Step's type."""


StepName: TypeAlias = type[NamedStep] | NamedStep | str
"""A Step by its class, an instance of it, or its type."""


class StepMovement(msgspec.Struct, frozen=True):
    """A Step to start, by its type, and its input as a Python value."""

    step_type: str
    input: Any = None

    @classmethod
    def of(cls, step: StepName, input: Any = None) -> "StepMovement":  # noqa: A002  # SDK
        """Start `step`, given as its class, an instance or its type.

        Raises:
            InvalidStepResultError: `step` is none of these.
        """
        return cls(step_type_of(step), input)


class StepDecision(msgspec.Struct, frozen=True):
    """What becomes of the Flow after a handler: one of the classes below, made by the functions of their names."""

    @staticmethod
    def go_to(step: StepName, input: Any = None) -> "GoTo":  # noqa: A002  # SDK
        """Go on with one Step."""
        return GoTo((StepMovement.of(step, input),))

    @staticmethod
    def go_to_many(*movements: StepMovement) -> "GoTo":
        """Go on with several Steps at once.

        Raises:
            InvalidStepResultError: there is none, or one is no StepMovement.
        """
        return GoTo(movements)

    @staticmethod
    def graceful_complete(output: Any = None) -> "GracefulComplete":
        """End this thread; the Flow completes with `output` when no other Step is left."""
        return GracefulComplete(output)

    @staticmethod
    def force_complete(output: Any = None) -> "ForceComplete":
        """Complete the Flow with `output`, whatever its other Steps do."""
        return ForceComplete(output)

    @staticmethod
    def force_complete_if_channels_empty(
        output: Any, fallback: "StepDecision | StepMovement"
    ) -> "ForceCompleteIfChannelsEmpty":
        """Complete the Flow if no Channel has a pending message when this commits, else do what `fallback` says.

        Raises:
            InvalidStepResultError: `fallback` is no StepDecision and no StepMovement.
        """
        return ForceCompleteIfChannelsEmpty(
            output, GoTo((fallback,)) if isinstance(fallback, StepMovement) else fallback
        )

    @staticmethod
    def force_fail(reason: Any = "") -> "ForceFail":
        """Fail the Flow, whatever its other Steps do."""
        return ForceFail(reason)

    @staticmethod
    def dead_end() -> "DeadEnd":
        """End this thread and leave the Flow open."""
        return DeadEnd()


class GoTo(StepDecision, frozen=True, tag="go_to"):
    """Start Steps."""

    movements: tuple[StepMovement, ...]

    def __post_init__(self) -> None:
        if not self.movements:
            raise InvalidStepResultError("go_to_many names no Step", "use dead_end() to start none")
        for movement in self.movements:
            if not isinstance(movement, StepMovement):
                raise InvalidStepResultError(
                    f"{movement!r} is no StepMovement", "pass StepMovement.of(step, input)", returned=repr(movement)
                )


class GracefulComplete(StepDecision, frozen=True, tag="graceful_complete"):
    """End this thread, and the Flow after its last one."""

    output: Any = None


class ForceComplete(StepDecision, frozen=True, tag="force_complete"):
    """Complete the Flow."""

    output: Any = None


class ForceCompleteIfChannelsEmpty(StepDecision, frozen=True, tag="force_complete_if_channels_empty"):
    """Complete the Flow, or do what `fallback` says where a message is pending."""

    output: Any
    fallback: StepDecision

    def __post_init__(self) -> None:
        check_decision(self.fallback, "the fallback of force_complete_if_channels_empty")


class ForceFail(StepDecision, frozen=True, tag="force_fail"):
    """Fail the Flow."""

    reason: Any = ""


class DeadEnd(StepDecision, frozen=True, tag="dead_end"):
    """End this thread only."""


go_to = StepDecision.go_to
go_to_many = StepDecision.go_to_many
graceful_complete = StepDecision.graceful_complete
force_complete = StepDecision.force_complete
force_complete_if_channels_empty = StepDecision.force_complete_if_channels_empty
force_fail = StepDecision.force_fail
dead_end = StepDecision.dead_end


def step_type_of(step: StepName) -> str:
    """Give the type of a Step that is named by its class, an instance or its type.

    Raises:
        InvalidStepResultError: `step` is none of these.
    """
    if isinstance(step, str):
        return step
    try:
        # A class is asked through an instance that is not initialised: its constructor may want arguments.
        target = object.__new__(step) if isinstance(step, type) else step
        return str(target.get_step_type())
    except (AttributeError, TypeError) as error:
        raise InvalidStepResultError(f"{step!r} is no Step", "pass the class of a Step", returned=repr(step)) from error


def check_decision(result: Any, handler: str) -> StepDecision:
    """Give what a handler returned, once it is a StepDecision.

    Raises:
        InvalidStepResultError: it is something else.
    """
    if isinstance(result, StepDecision) and type(result) is not StepDecision:
        return result
    raise wrong_result(handler, result, "return a StepDecision such as go_to(…) or graceful_complete(…)")


def wrong_result(handler: str, result: Any, remedy: str) -> InvalidStepResultError:
    """Give the error for what a handler may not return."""
    kind = type(result).__name__
    return InvalidStepResultError(f"{handler} returned {kind}", remedy, handler=handler, returned=kind)
