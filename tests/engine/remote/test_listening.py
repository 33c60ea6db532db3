"""Asking a server how it is before anything is sent to it."""

import httpx
import pytest

from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.listening import Listening
from dex.engine.remote.trying import NotReached


@pytest.mark.spec("X-01", "K-04")
def test_a_server_that_is_gone_for_long_may_be_asked_for_ever() -> None:
    """A client that lives for days asks some thousand times."""
    (endpoint,) = parse_endpoints("http://127.0.0.1:9")
    with httpx.Client(trust_env=False) as http:
        listening = Listening(http)
        for _ in range(2000):
            with pytest.raises(NotReached):
                listening.check(endpoint, 5.0)
