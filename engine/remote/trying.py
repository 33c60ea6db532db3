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
    remedy = "look before you repeat it; a write that has a mutation or request id can be repeated safely"
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
        failures = Failures()
        for number in range(_TRIES if repeatable else 1):
            if number and not _pause(number, deadline):
                break
            for turn in range(len(self._endpoints)):
                index = (self._first + turn) % len(self._endpoints)
                try:
                    result = attempt(self._endpoints[index])
                except Unavailable as error:
                    if type(error) is not Unavailable:
                        raise
                    failures.note(self._endpoints[index], error)
                    if _is_unknown(error) and not repeatable:
                        raise failures.error() from error
                except NotReached as error:
                    failures.note(self._endpoints[index], error)
                except LostReply as error:
                    failures.note(self._endpoints[index], error)
                    if not repeatable:
                        raise failures.error() from error
                else:
                    self._first = index
                    return result
                if time.monotonic() >= deadline:
                    break
        raise failures.error()


class Failures:
    """Why servers did not answer: what each said last, and what that means for the request."""

    def __init__(self) -> None:
        self._told: dict[Endpoint, str] = {}
        self._gravest: NotReached | LostReply | Unavailable = NotReached("no server was asked")

    def note(self, endpoint: Endpoint, error: NotReached | LostReply | Unavailable) -> None:
        """Take note of one failure; the gravest says what became of the request."""
        self._told[endpoint] = error.message if isinstance(error, Unavailable) else str(error)
        if _gravity(error) >= _gravity(self._gravest):
            self._gravest = error

    def error(self) -> Exception:
        """Give the error of all of them: a LostReply where one may have carried the request out unheard."""
        gravest = self._gravest
        if isinstance(gravest, LostReply):
            return LostReply(self._message(), gravest.remedy, **gravest.facts)
        facts = gravest.facts if isinstance(gravest, Unavailable) else {}
        return Unavailable(self._message(), gravest.remedy, **facts)

    def _message(self) -> str:
        """Give what was told, by whom where it is several; the same is told once."""
        if len(self._told) < 2:
            return "".join(self._told.values()) or str(self._gravest)
        by_text: dict[str, list[str]] = {}
        for endpoint, text in self._told.items():
            # What was sent tells of its address itself, path and all.
            what = text.partition(": ")[2] if text.startswith(endpoint.url) else text
            by_text.setdefault(what, []).append(endpoint.url)
        return "; ".join(f"{', '.join(urls)}: {text}" for text, urls in by_text.items())


def _is_unknown(error: Unavailable) -> bool:
    return error.facts.get("applied") == "unknown"


def _gravity(error: NotReached | LostReply | Unavailable) -> int:
    """Rank failures by what they leave open: nothing was sent, it was refused, or it may have been carried out."""
    if isinstance(error, NotReached):
        return 0
    return 1 if isinstance(error, Unavailable) and not _is_unknown(error) else 2


def _pause(number: int, deadline: float) -> bool:
    """Rest before a try, longer each time; False where the time is over."""
    seconds = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**number) * random.uniform(0.5, 1.0)  # noqa: S311
    if time.monotonic() + seconds >= deadline:
        return False
    time.sleep(seconds)
    return True
