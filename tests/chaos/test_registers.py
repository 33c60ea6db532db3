"""The check of histories itself, against trying every order."""

from itertools import permutations
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chaos.registers import NOTHING, Operation, violation


def _write(value: bytes, begun: float, answered: float = inf) -> Operation:
    return Operation("k", "write", value, begun, answered)


def _read(value: bytes, begun: float, answered: float) -> Operation:
    return Operation("k", "read", value, begun, answered)


@pytest.mark.spec("K-06")
@pytest.mark.parametrize(
    ("history", "told"),
    [
        ([_write(b"1", 0, 1), _read(NOTHING, 2, 3)], "had replaced it"),
        ([_write(b"1", 0, 1), _write(b"2", 2, 3), _read(b"1", 4, 5)], "had replaced it"),
        ([_read(b"1", 0, 1), _write(b"1", 2, 3)], "before it was written"),
        ([_read(b"9", 0, 1)], "written by 0 writes"),
        ([_write(b"1", 0), _read(b"1", 1, 2), _read(NOTHING, 3, 4)], "had replaced it"),
        ([_write(b"1", 0, 1), _write(b"2", 2, 4), _read(b"1", 5, 6)], "had replaced it"),
        ([_write(b"1", 0, 1), _write(b"2", 2, 3), _read(b"2", 2, 3), _read(b"1", 5, 6)], "had replaced it"),
    ],
)
def test_what_no_single_register_could_answer_is_found(history: list[Operation], told: str) -> None:
    """A stale read, a lost write, a value out of nowhere, and one that came back."""
    found = violation(history)
    assert found is not None
    assert told in found or "throughout" in found


@pytest.mark.spec("K-06")
def test_a_write_without_an_answer_may_have_come_about_or_not() -> None:
    """At any time after it was begun."""
    assert violation([_write(b"1", 0), _read(NOTHING, 1, 2), _read(b"1", 5, 6)]) is None
    assert violation([_write(b"1", 0), _read(NOTHING, 1, 2)]) is None


@st.composite
def _histories(draw: st.DrawFn) -> list[Operation]:
    """A few operations at different times; reads of what is written, or of nothing."""
    kinds = draw(st.lists(st.sampled_from(["write", "read"]), min_size=1, max_size=6))
    times = draw(st.permutations(range(2 * len(kinds))))
    values = [b"%d" % number for number, kind in enumerate(kinds) if kind == "write"]
    history = []
    for number, kind in enumerate(kinds):
        begun, answered = sorted(times[2 * number : 2 * number + 2])
        if kind == "write":
            known = draw(st.booleans())
            history.append(_write(b"%d" % number, begun, answered if known else inf))
        else:
            history.append(_read(draw(st.sampled_from([NOTHING, *values])), begun, answered))
    return history


def _has_an_order(history: list[Operation]) -> bool:
    """Look for an order that one register could have carried out; writes without an answer may be left out."""
    sure = [each for each in history if each.answered < inf]
    unsure = [each for each in history if each.answered == inf]
    for mask in range(2 ** len(unsure)):
        taken = sure + [each for index, each in enumerate(unsure) if mask >> index & 1]
        if any(_is_an_order(order) for order in permutations(taken)):
            return True
    return False


def _is_an_order(order: tuple[Operation, ...]) -> bool:
    value = NOTHING
    for index, each in enumerate(order):
        if any(later.answered < each.begun for later in order[index + 1 :]):
            return False
        if each.kind == "write":
            value = each.value
        elif each.value != value:
            return False
    return True


@pytest.mark.spec("K-06")
@given(_histories())
@settings(max_examples=300, deadline=None)
def test_the_check_finds_what_trying_every_order_finds(history: list[Operation]) -> None:
    """No more and no less."""
    assert (violation(history) is None) == _has_an_order(history)
