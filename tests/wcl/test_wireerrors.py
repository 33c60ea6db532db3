"""Errors told in JSON and made again."""

import math
from datetime import timedelta

import pytest

from dex.wcl.errors import DexError, Refused, RetryAfterError, RPCLockConflict, Unavailable
from dex.wcl.wireerrors import error_from_wire, error_to_json, error_to_wire


@pytest.mark.spec("X-01")
@pytest.mark.parametrize(
    "error",
    [
        RPCLockConflict("a lock is held", "try again", locks=["A/1"]),
        Unavailable("the disk is full", "make room"),
        RetryAfterError(timedelta(seconds=3), "later"),
    ],
)
def test_an_error_comes_back_as_it_was(error: DexError) -> None:
    """Class, message, remedy and facts survive."""
    again = error_from_wire(error_to_wire(error))
    assert type(again) is type(error)
    assert (again.message, again.remedy, again.facts) == (error.message, error.remedy, error.facts)
    assert str(again) == str(error)


@pytest.mark.spec("X-03")
def test_facts_that_json_has_no_number_for_are_told_as_text() -> None:
    """A handler may make facts of anything, and what is written is JSON all the same."""
    facts = error_to_json(Refused("too much", "", rate=math.inf, rates=[1.5, {"last": math.nan}]))
    assert (facts["rate"], facts["rates"]) == ("inf", [1.5, {"last": "nan"}])
