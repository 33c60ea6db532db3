"""The base of every typed command, and the evidence that results share."""

import re
from typing import Any, Generic, TypeVar

import msgspec

from dex.wcl.durations import format_duration
from dex.wcl.errors import InvalidCommand
from dex.wcl.values import I64_MAX

Result_co = TypeVar("Result_co", covariant=True)

MAX_MUTATION_ID = 128
MAX_ITEMS = 10_000
MAX_WAIT_MS = 600_000


def snake_case(name: str) -> str:
    """Give the snake_case form of a class name: `DefineStateStore` is `define_state_store`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Command(
    msgspec.Struct,
    Generic[Result_co],
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="command",
    tag=snake_case,
):
    """One thing an engine can do. The type parameter is the result that `Engine.execute` gives for it.

    A command checks itself when it is made, so one that exists is well-formed whichever door it came through.
    """


class Freshness(msgspec.Struct, frozen=True):
    """How current an answer is (spec: S-09).

    `applied_seq` and `committed_seq` are journal positions, `behind` is how many positions lie between them,
    and `served_by` names who answered.
    """

    applied_seq: int
    committed_seq: int
    behind: int
    served_by: str


def check_mutation_id(mutation_id: str | None) -> None:
    """Refuse a mutation id that is empty or over-long.

    Raises:
        InvalidCommand: with the limit in the message.
    """
    if mutation_id is None:
        return
    if not isinstance(mutation_id, str):
        raise InvalidCommand(f"a mutation id is text, not {type(mutation_id).__name__}", "use a UUID")
    if not 0 < len(mutation_id) <= MAX_MUTATION_ID:
        raise InvalidCommand(
            f"a mutation id has 1 to {MAX_MUTATION_ID} characters, this one has {len(mutation_id)}",
            "use a UUID",
        )


def check_integer(number: Any, what: str) -> None:
    """Refuse what is no integer, as a program may pass it.

    Raises:
        InvalidCommand: naming `what`.
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidCommand(f"{what} is an integer, not {type(number).__name__}", "pass a whole number")


def check_items(items: Any, kind: type, what: str) -> None:
    """Refuse what is no list of `kind`, as a program may pass it.

    Raises:
        InvalidCommand: naming `what`.
    """
    if not isinstance(items, list) or not all(isinstance(item, kind) for item in items):
        raise InvalidCommand(f"{what} are a list of {kind.__name__}", f"pass [{kind.__name__}(...)]")


def check_limit(limit: int, largest: int) -> None:
    """Refuse a page size outside 1 to `largest`.

    Raises:
        InvalidCommand: with the limit in the message.
    """
    check_integer(limit, "limit")
    if not 1 <= limit <= largest:
        remedy = "ask for several pages" if limit > largest else "ask for 1 or more"
        raise InvalidCommand(f"limit is {limit}, and 1 to {largest} is allowed", remedy)


def check_position(after: int) -> None:
    """Refuse a position or number that is none: below zero, or above the largest there can be.

    Raises:
        InvalidCommand: with the limit in the message.
    """
    check_integer(after, "after")
    if not 0 <= after <= I64_MAX:
        raise InvalidCommand(f"after is {after}, and 0 to {I64_MAX} is allowed", "start after 0 to read all")


def check_count(count: int, what: str, item: str) -> None:
    """Refuse a command that carries no item, or more than one commit should.

    Raises:
        InvalidCommand: with the limit in the message.
    """
    if not 1 <= count <= MAX_ITEMS:
        raise InvalidCommand(
            f"{what} has 1 to {MAX_ITEMS} {item}s, this one has {count}",
            f"add a {item}" if not count else "split it into several",
        )


def check_wait_ms(wait_ms: int) -> None:
    """Refuse a wait outside 0 to ten minutes.

    Raises:
        InvalidCommand: with the limit in the message.
    """
    check_integer(wait_ms, "wait_ms")
    if not 0 <= wait_ms <= MAX_WAIT_MS:
        shown = f", which is {format_duration(wait_ms / 1000)}" if wait_ms > 0 else ""
        longest = format_duration(MAX_WAIT_MS / 1000)
        raise InvalidCommand(f"wait_ms is {wait_ms}{shown}, and 0 to {longest} is allowed", "wait less and ask again")
