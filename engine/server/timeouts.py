"""How long whoever sent a request waits for its answer, where it tells so (spec: K-04).

It gets an answer that says what is amiss, in place of none.
"""

import re
from contextvars import ContextVar

from dex.engine.server.headers import Headers, first
from dex.wcl.errors import InputError

SECONDS: ContextVar[float] = ContextVar("dex.timeout", default=float("inf"))
"""Of the request that is being answered."""

_HEADER = b"x-dex-timeout"
_NUMBER = re.compile(rb"\d{1,12}(\.\d{1,9})?")


def take_timeout(headers: Headers) -> None:
    """Take note of what a request tells.

    Raises:
        InputError: it is not a number of seconds.
    """
    told = first(headers, _HEADER)
    if told is None:
        return
    if not _NUMBER.fullmatch(told):
        raise InputError("X-Dex-Timeout is not a number of seconds", "send one such as 2.5, or leave it out")
    SECONDS.set(float(told))
