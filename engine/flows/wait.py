"""What a Step waits for, as plain data that is stored with the Step's execution (spec: FL-08)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TypeAlias

import msgspec

from dex.engine.flows.checking import checked
from dex.wcl.errors import InvalidCommand


class ChannelCondition(msgspec.Struct, frozen=True, tag="channel"):
    """Met when the Channel with the key `channel` has `minimum` messages; takes up to `maximum`, None for all."""

    channel: str
    minimum: int = 1
    maximum: int | None = 1
    condition_id: str = ""

    def __post_init__(self) -> None:
        if self.minimum < 1:
            raise InvalidCommand(f"a condition waits for 1 message or more, not {self.minimum}", "pass 1 or more")
        if self.maximum is not None and self.maximum < self.minimum:
            raise InvalidCommand(
                f"a condition cannot take at most {self.maximum} and at least {self.minimum} messages",
                "pass the smaller number first",
            )


class TimerCondition(msgspec.Struct, frozen=True, tag="timer"):
    """Met when `duration` has passed since the wait began, or when the timer is skipped."""

    duration: timedelta
    condition_id: str = ""

    def __post_init__(self) -> None:
        if self.duration < timedelta(0):
            raise InvalidCommand(f"a Timer cannot last {self.duration}", "pass a duration of zero or more")


Condition: TypeAlias = ChannelCondition | TimerCondition


class Timer:
    """Makes conditions of time."""

    @staticmethod
    @checked("Timer.by_duration(timedelta(hours=1), 'too-late')")
    def by_duration(duration: timedelta, condition_id: str = "") -> TimerCondition:
        """Wait for `duration`, counted from the moment the wait begins.

        Raises:
            InvalidCommand: the duration is negative.
        """
        return TimerCondition(duration, condition_id)


class Wait(msgspec.Struct, frozen=True):
    """Conditions, and the combinations of them (by position) of which one must be met as a whole.

    A wait for nothing has one combination, the empty one, and so is met at once.
    """

    conditions: tuple[Condition, ...] = ()
    combinations: tuple[tuple[int, ...], ...] = ((),)

    @classmethod
    def skip_immediately(cls) -> "Wait":
        """Execute at once."""
        return cls()

    @classmethod
    @checked("Wait.until(PAYMENTS.for_one())")
    def until(cls, condition: Condition) -> "Wait":
        """Wait for one condition."""
        return cls.all_of(condition)

    @classmethod
    @checked("Wait.all_of(PAYMENTS.for_one(), Timer.by_duration(timedelta(hours=1)))")
    def all_of(cls, *conditions: Condition) -> "Wait":
        """Wait until all conditions are met; without any, execute at once."""
        return cls(conditions, (tuple(range(len(conditions))),))

    @classmethod
    @checked("Wait.any_of(PAYMENTS.for_one(), Timer.by_duration(timedelta(hours=1)))")
    def any_of(cls, *conditions: Condition) -> "Wait":
        """Wait until one condition is met, the first given where several are.

        Raises:
            InvalidCommand: there is none, so the wait would never end.
        """
        return cls.any_combination_of(*((condition,) for condition in conditions))

    @classmethod
    @checked("Wait.any_combination_of((PAYMENTS.for_one(), RECEIPTS.for_one()), (TIMER,))")
    def any_combination_of(cls, *combinations: Iterable[Condition]) -> "Wait":
        """Wait until all conditions of one combination are met; one condition may be in several.

        Raises:
            InvalidCommand: there is no combination, so the wait would never end.
        """
        if not combinations:
            raise InvalidCommand("a wait for any of no conditions never ends", "use Wait.skip_immediately()")
        conditions: list[Condition] = []
        positions = [tuple(_position(conditions, condition) for condition in group) for group in combinations]
        return cls(tuple(conditions), tuple(positions))

    @property
    def timers(self) -> list[TimerCondition]:
        """The Timers, in the order that `Context.has_timer_fired` counts them."""
        return [condition for condition in self.conditions if isinstance(condition, TimerCondition)]

    def settle(self, sizes: Mapping[str, int], timers_fired: Sequence[bool]) -> list[int] | None:
        """Tell how many messages each condition takes, or None while no combination is met.

        `sizes` counts the pending messages by Channel key, `timers_fired` goes by the order of `timers`. Only the
        first combination that is met takes messages; its conditions share those of a Channel in their order.
        """
        for combination in self.combinations:
            taken = self._taken(combination, dict(sizes), timers_fired)
            if taken is not None:
                return taken
        return None

    def _taken(
        self, combination: tuple[int, ...], left: dict[str, int], timers_fired: Sequence[bool]
    ) -> list[int] | None:
        taken = [0] * len(self.conditions)
        for position in combination:
            condition = self.conditions[position]
            if isinstance(condition, TimerCondition):
                number = sum(isinstance(before, TimerCondition) for before in self.conditions[:position])
                if number >= len(timers_fired) or not timers_fired[number]:
                    return None
                continue
            available = left.get(condition.channel, 0)
            if available < condition.minimum:
                return None
            taken[position] = available if condition.maximum is None else min(available, condition.maximum)
            left[condition.channel] = available - taken[position]
        return taken


def _position(conditions: list[Condition], condition: Condition) -> int:
    """Give the position of this very condition, which is added when it is new; equal ones stay apart."""
    for position, known in enumerate(conditions):
        if known is condition:
            return position
    conditions.append(condition)
    return len(conditions) - 1
