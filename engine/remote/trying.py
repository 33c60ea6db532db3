"""Which server is asked, and whether the same request may be sent again."""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import uuid4

import msgspec

from dex.engine.remote.endpoints import Endpoint
from dex.wcl.commands import Command
from dex.wcl.errors import Unavailable
from dex.wcl.scopes import scope_of

R = TypeVar("R")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_TRIES = 4


class NotReached(Exception):  # named after what happened
    """No connection came about: nothing was sent, and any request may go elsewhere."""

    def __init__(self, message: str, remedy: str = "check --endpoint, and that `dex serve` runs there") -> None:
        super().__init__(message)
        self.remedy = remedy


class LostReply(Exception):  # as above
    """The request was sent, and no whole answer of a dex server came: it may have been carried out."""

    def __init__(self, message: str, remedy: str = "try again, or raise --timeout", **facts: Any) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.facts = facts


def is_repeatable(command: Command[Any]) -> bool:
    """Tell whether sending a command twice does what sending it once does."""
    has_id = getattr(command, "mutation_id", None) or getattr(command, "request_id", None)
    return scope_of(command) == "read" or has_id is not None


def with_id(command: Command[R]) -> Command[R]:
    """Give a write an id of its own where it can have one and has none, so that it may be repeated (spec: S-07)."""
    for field in ("mutation_id", "request_id"):
        if getattr(command, field, "none") is None:
            return msgspec.structs.replace(command, **{field: str(uuid4())})
    return command


def may_be_applied(told: str, **facts: Any) -> Unavailable:
    """Give the error for a write of which nobody knows whether it was, or will be, applied."""
    remedy = "look before you repeat it; with a mutation or request id it can be repeated safely"
    return Unavailable(told, remedy, **facts, applied="unknown")


class Trying:
    """Asks the servers in turn, the one first that answered last."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = endpoints
        self._first = 0

    def run(self, attempt: Callable[[Endpoint], R], deadline: float, *, repeatable: bool) -> R:
        """Give what the first server answers that can be reached.

        Raises:
            LostReply: no whole answer came, and the request may not be repeated, or was repeated in vain.
            Unavailable: no server could be reached, or all said so.
        """
        last: Exception | None = None
        for number in range(_TRIES if repeatable else 1):
            if number and not _pause(number, deadline):
                break
            for turn in range(len(self._endpoints)):
                index = (self._first + turn) % len(self._endpoints)
                try:
                    result = attempt(self._endpoints[index])
                except Unavailable as error:
                    if type(error) is not Unavailable or (error.facts.get("applied") == "unknown" and not repeatable):
                        raise
                    last = error
                except NotReached as error:
                    last = error
                except LostReply as error:
                    if not repeatable:
                        raise
                    last = error
                else:
                    self._first = index
                    return result
                if time.monotonic() >= deadline:
                    break
        raise _final(last)


def _pause(number: int, deadline: float) -> bool:
    """Rest before a try, longer each time; False where the time is over."""
    seconds = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**number) * random.uniform(0.5, 1.0)  # noqa: S311
    if time.monotonic() + seconds >= deadline:
        return False
    time.sleep(seconds)
    return True


def _final(last: Exception | None) -> Exception:
    if isinstance(last, NotReached):
        return Unavailable(f"{last}", last.remedy)
    return last or Unavailable("no server was asked", "name one with --endpoint")
