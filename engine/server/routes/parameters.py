"""Parameters that several routes take, and what their examples are about."""

from dex.engine.server.call import Parameter
from dex.wcl.commands import Freshness
from dex.wcl.commands.base import MAX_WAIT_MS
from dex.wcl.values import I64_MAX

FRESH = Freshness(applied_seq=12, committed_seq=12, behind=0, served_by="local")
CREATED, UPDATED = "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:06.789Z"


def limit(most: int, default: int | None, what: str) -> Parameter:
    """Give the parameter for how many items a page has at most."""
    return Parameter("limit", int, f"How many {what} at most.", default, example=2, least=1, most=most)


def position(what: str, default: int | None = 0) -> Parameter:
    """Give the parameter for the position or number to go on after."""
    return Parameter("after", int, what, default, example=0, least=0, most=I64_MAX)


def wait(what: str, default: int) -> Parameter:
    """Give the parameter for how long something is waited for."""
    return Parameter("wait_ms", int, what, default, example=0, least=0, most=MAX_WAIT_MS)
