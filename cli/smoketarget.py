"""What a smoke check works on, and how it says that an answer is wrong."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dex.engine.protocol import Engine


class Mismatch(Exception):
    """The target answered, and not what was expected."""


class Target(NamedTuple):
    """The engine, and the names of this run; `flow` begins the ids of its Flows."""

    engine: "Engine"
    store: str
    feed: str
    projection: str
    flow: str


def expect(found: Any, expected: Any, what: str) -> None:
    """Refuse an answer that is not the one expected.

    Raises:
        Mismatch: with both.
    """
    if found != expected:
        raise Mismatch(f"{what}: expected {expected!r}, found {found!r}")
