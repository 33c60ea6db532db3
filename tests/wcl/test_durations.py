"""Durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex.wcl.durations import format_duration, parse_duration, parse_duration_or_zero
from dex.wcl.errors import InputError


@pytest.mark.spec("X-01")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("30s", 30.0), ("5m", 300.0), ("1h", 3600.0), ("7d", 604800.0), ("1.5s", 1.5)],
)
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    """Each unit is read as seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.spec("X-01")
@pytest.mark.parametrize("text", ["", "5", "s", "-1s", "5 s", "1h30m", "0s", "1e3s", "\N{ARABIC-INDIC DIGIT FIVE}x"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    """A duration without a unit, of no length or in another form says how to write one."""
    with pytest.raises(InputError, match="30s"):
        parse_duration(text)


@given(st.integers(1, 36500), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_a_formatted_duration_reads_back(count: int, unit: str) -> None:
    """What `config show` prints can be given as a flag."""
    seconds = parse_duration(f"{count}{unit}")
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["0", "0s", "0ms", "0.0h"])
def test_zero_may_be_allowed(text: str) -> None:
    """Where zero has a meaning of its own it is written with a unit or without."""
    assert parse_duration_or_zero(text) == 0
