"""How failed handlers are tried again."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex import RetryAfterError, RetryPolicy, WorkerInvocationError, retry_after
from dex.engine.flows.retry import next_delay
from dex.wcl.errors import InvalidCommand

SECOND = timedelta(seconds=1)


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize(
    ("policy", "attempt", "elapsed", "delay"),
    [
        (RetryPolicy(), 1, 0, 1),
        (RetryPolicy(), 2, 1, 2),
        (RetryPolicy(), 7, 63, 64),
        (RetryPolicy(), 8, 127, 100),
        (RetryPolicy(), 1_000_000, 10**9, 100),
        (RetryPolicy(maximum_attempts=3), 2, 0, 2),
        (RetryPolicy(maximum_attempts=3), 3, 0, None),
        (RetryPolicy(maximum_attempts=1), 1, 0, None),
        (RetryPolicy(total_duration=10 * SECOND), 3, 6, 4),
        (RetryPolicy(total_duration=10 * SECOND), 3, 6.5, None),
        (RetryPolicy(initial_interval=3 * SECOND, backoff_coefficient=1), 9, 0, 3),
    ],
)
def test_delays_grow_until_the_tries_end(
    policy: RetryPolicy, attempt: int, elapsed: float, delay: float | None
) -> None:
    expected = None if delay is None else timedelta(seconds=delay)
    assert next_delay(policy, attempt, timedelta(seconds=elapsed)) == expected


@pytest.mark.spec("FL-08")
@given(st.integers(1, 10**9), st.floats(1, 100), st.integers(1, 1000), st.integers(0, 10**6))
def test_no_delay_is_shorter_than_the_first_or_longer_than_the_maximum(
    attempt: int, coefficient: float, initial: int, more: int
) -> None:
    policy = RetryPolicy(initial * SECOND, coefficient, (initial + more) * SECOND)
    delay = next_delay(policy, attempt)
    assert delay is not None
    assert policy.initial_interval <= delay <= policy.maximum_interval


@pytest.mark.parametrize(
    "fields",
    [
        {"initial_interval": timedelta(0)},
        {"maximum_interval": timedelta(milliseconds=1)},
        {"backoff_coefficient": 0.5},
        {"backoff_coefficient": float("nan")},
        {"maximum_attempts": -1},
        {"total_duration": -SECOND},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidCommand):
        RetryPolicy(**fields)


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize("ask", [retry_after, RetryAfterError])
def test_no_handler_may_ask_to_be_tried_again_in_the_past(ask: Callable[[timedelta], object]) -> None:
    """It would be tried as fast as the machine can, with an event for each."""
    with pytest.raises(InvalidCommand, match="zero or more"):
        ask(-SECOND)


@pytest.mark.spec("FL-08")
def test_a_delay_that_is_no_timedelta_is_refused() -> None:
    with pytest.raises(InvalidCommand, match="delay is the int 30, and timedelta is expected"):
        RetryAfterError(30)  # type: ignore[arg-type]  # that is the mistake


@pytest.mark.spec("FL-08")
def test_a_message_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidCommand, match="message is the int 5, and str is expected"):
        RetryAfterError(SECOND, 5)  # type: ignore[arg-type]  # that is the mistake


@pytest.mark.spec("FL-08")
def test_a_handler_may_ask_for_its_own_delay() -> None:
    with pytest.raises(RetryAfterError, match="not yet") as caught:
        raise retry_after(5 * SECOND, "not yet")
    assert caught.value.delay == 5 * SECOND
    assert isinstance(caught.value, WorkerInvocationError)
