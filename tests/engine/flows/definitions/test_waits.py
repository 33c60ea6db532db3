"""Waits: what meets them and what they take."""

from datetime import timedelta

import msgspec
import pytest

from dex import Channel, Timer, Wait
from dex.wcl.errors import InvalidCommand

A, B = Channel("A", str), Channel("B", str)
HOUR = Timer.by_duration(timedelta(hours=1), "hour")


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize(
    ("wait", "sizes", "fired", "taken"),
    [
        (Wait.skip_immediately(), {}, [], []),
        (Wait.all_of(), {}, [], []),
        (Wait.until(A.for_one()), {}, [], None),
        (Wait.until(A.for_one()), {"A": 2}, [], [1]),
        (Wait.until(A.for_n(2)), {"A": 1}, [], None),
        (Wait.until(A.at_least(2)), {"A": 5}, [], [5]),
        (Wait.until(A.at_most(2)), {"A": 5}, [], [2]),
        (Wait.until(A.for_range(2, 3)), {"A": 5}, [], [3]),
        (Wait.until(HOUR), {}, [False], None),
        (Wait.until(HOUR), {}, [True], [0]),
        (Wait.all_of(A.for_one(), HOUR), {"A": 1}, [False], None),
        (Wait.all_of(A.for_one(), HOUR), {"A": 1}, [True], [1, 0]),
        (Wait.all_of(A.for_one(), A.for_one()), {"A": 1}, [], None),
        (Wait.all_of(A.for_one(), A.at_least(1)), {"A": 4}, [], [1, 3]),
        (Wait.any_of(HOUR, A.for_one()), {"A": 1}, [False], [0, 1]),
        (Wait.any_of(A.for_one(), B.for_one()), {"A": 1, "B": 1}, [], [1, 0]),
        (Wait.any_of(HOUR, Timer.by_duration(timedelta(0))), {}, [False, True], [0, 0]),
        (Wait.any_combination_of([A.for_one(), B.for_one()], [HOUR]), {"A": 1}, [False], None),
        (Wait.any_combination_of([A.for_one(), B.for_one()], [HOUR]), {"A": 1}, [True], [0, 0, 0]),
        (Wait.any_combination_of([A.for_one(), B.for_one()], [HOUR]), {"A": 1, "B": 1}, [False], [1, 1, 0]),
    ],
)
def test_a_wait_takes_the_messages_of_the_first_combination_that_is_met(
    wait: Wait, sizes: dict[str, int], fired: list[bool], taken: list[int] | None
) -> None:
    assert wait.settle(sizes, fired) == taken


@pytest.mark.spec("FL-08")
def test_one_condition_may_be_in_several_combinations() -> None:
    shared = A.for_one()
    wait = Wait.any_combination_of([shared, B.for_one()], [shared, HOUR])
    assert wait.combinations == ((0, 1), (0, 2))
    assert wait.timers == [HOUR]


@pytest.mark.spec("FL-08")
def test_a_wait_is_stored_as_plain_data() -> None:
    wait = Wait.any_combination_of([A.for_range(1, 3, "few"), HOUR], [B.at_least(2)])
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(wait), type=Wait) == wait


@pytest.mark.spec("FL-08")
def test_a_wait_that_never_ends_is_refused() -> None:
    with pytest.raises(InvalidCommand, match="never ends"):
        Wait.any_of()
    with pytest.raises(InvalidCommand, match="cannot last"):
        Timer.by_duration(timedelta(seconds=-1))
