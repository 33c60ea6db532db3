"""Which server is asked next, and when none is."""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from dex.engine.remote.endpoints import Endpoint, parse_endpoints
from dex.engine.remote.trying import NotReached, Trying
from dex.wcl.errors import LongPollTimeoutError, Unavailable

_ENDPOINTS = parse_endpoints("http://one,http://two")


def _asked(failure: Exception, *, repeatable: bool) -> list[str]:
    """Give the servers that were asked, where the first answers by an error and the second well."""
    asked: list[str] = []

    def attempt(endpoint: Endpoint) -> None:
        asked.append(endpoint.url)
        if endpoint is _ENDPOINTS[0]:
            raise failure

    with suppress(type(failure)):
        Trying(_ENDPOINTS).run(attempt, time.monotonic() + 10, repeatable=repeatable)
    return asked


@pytest.mark.spec("K-07", "S-07")
@pytest.mark.parametrize("failure", [lambda: NotReached("down"), lambda: Unavailable("no quorum")])
@pytest.mark.parametrize("repeatable", [True, False])
def test_what_was_surely_not_carried_out_goes_to_the_next_server(
    failure: Callable[[], Exception], repeatable: bool
) -> None:
    """Whatever the command is."""
    assert _asked(failure(), repeatable=repeatable) == ["http://one", "http://two"]


@pytest.mark.spec("K-07", "S-07")
def test_a_write_that_may_have_been_applied_goes_to_no_other_server_unless_it_has_an_id() -> None:
    """The first server tells so; a second one would apply it once more."""
    unknown = Unavailable("not answered", applied="unknown")
    assert _asked(unknown, repeatable=False) == ["http://one"]
    assert _asked(unknown, repeatable=True) == ["http://one", "http://two"]


@pytest.mark.spec("K-07")
def test_a_wait_that_ended_is_not_begun_anew_elsewhere() -> None:
    """It took as long as it was to take."""
    assert _asked(LongPollTimeoutError("not yet"), repeatable=True) == ["http://one"]
