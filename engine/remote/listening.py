"""Whether one of several servers answers at all, before anything is sent to it.

A process that hangs still takes connections, and what was sent to it could go to no other server unless it may be
repeated.
"""

import time

import httpx

from dex.engine.remote.endpoints import Endpoint
from dex.engine.remote.replies import check_answers

_VALID_SECONDS = 5.0
_FIRST_SECONDS, _LONGEST_SECONDS = 1.0, 16.0


class Listening:
    """What is known of servers. Safe to share between threads."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self._answered: dict[Endpoint, float] = {}
        self._misses: dict[Endpoint, int] = {}

    def answered(self, endpoint: Endpoint) -> None:
        """Take note that a server has answered."""
        self._answered[endpoint] = time.monotonic()
        self._misses.pop(endpoint, None)

    def check(self, endpoint: Endpoint, seconds: float) -> None:
        """Ask a server that has not answered lately how it is, for at most some seconds.

        One is waited for longer each time, as it may be busy.

        Raises:
            NotReached: it does not answer.
        """
        if time.monotonic() - self._answered.get(endpoint, float("-inf")) < _VALID_SECONDS:
            return
        misses = self._misses.get(endpoint, 0)
        self._misses[endpoint] = misses + 1
        limit = min(seconds, _LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(misses, 9))
        check_answers(endpoint.url, lambda: self._http.get(f"{endpoint.url}/healthz", timeout=limit))
        self.answered(endpoint)
