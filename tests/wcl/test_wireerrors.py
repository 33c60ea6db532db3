"""Errors told in JSON and made again."""

from datetime import timedelta

import pytest

from dex.wcl.errors import DexError, RetryAfterError, RPCLockConflict, Unavailable
from dex.wcl.wireerrors import error_from_wire, error_to_wire


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
