"""Whether a history of writes and strict reads of registers is linearizable, where every value is written once.

The check is that of Gibbons and Korach ("Testing Shared Memories", 1997) for unique values. The operations on one
value are its write and all reads of it. Between the first response and the last invocation among them the register
surely had that value, where the response comes first: that is a forward zone, and no two of them may overlap. Else
all of them were under way at once in between: a backward zone, which may not lie inside of another value's forward
zone. With that, a history is linearizable exactly if no value is read before its write begins.
"""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from math import inf
from typing import NamedTuple

NOTHING = b""
"""What a register holds that nothing was written to."""


class Operation(NamedTuple):
    """A write or a read of one register, when it was begun, and when its answer came: never, where it is not known."""

    key: str
    kind: str
    value: bytes
    begun: float
    answered: float = inf


class _Zone(NamedTuple):
    begin: float
    end: float
    value: bytes


def violation(history: Iterable[Operation]) -> str | None:
    """Tell what is not linearizable about a history; None where it is."""
    registers: dict[str, list[Operation]] = {}
    for operation in history:
        registers.setdefault(operation.key, []).append(operation)
    for key, operations in registers.items():
        found = _violation_of_one(operations)
        if found is not None:
            return f"{key}: {found}"
    return None


def _violation_of_one(operations: list[Operation]) -> str | None:
    values: dict[bytes, list[Operation]] = {NOTHING: [Operation("", "write", NOTHING, -inf, -inf)]}
    for operation in operations:
        values.setdefault(operation.value, []).append(operation)
    forward: list[_Zone] = []
    backward: list[_Zone] = []
    for value, those in values.items():
        writes = [each for each in those if each.kind == "write"]
        reads = [each for each in those if each.kind == "read" and each.answered < inf]
        if len(writes) != 1:
            return f"{value!r} was read and is written by {len(writes)} writes"
        if any(read.answered < writes[0].begun for read in reads):
            return f"{value!r} was read before it was written"
        known = [*writes, *reads] if writes[0].answered < inf else reads
        if not known:
            continue  # nobody has seen it, so that it may never have come about
        first, last = min(each.answered for each in known), max(each.begun for each in (*writes, *reads))
        if first < last:
            forward.append(_Zone(first, last, value))
        else:
            backward.append(_Zone(last, first, value))
    forward.sort()
    for one, other in pairwise(forward):
        if other.begin < one.end:
            return f"{one.value!r} was read after {other.value!r} had replaced it, or the other way round"
    begins = [zone.begin for zone in forward]
    for zone in backward:
        place = bisect_right(begins, zone.begin) - 1
        if place >= 0 and forward[place].begin < zone.begin and zone.end < forward[place].end:
            return f"{zone.value!r} came and went while {forward[place].value!r} was there throughout"
    return None
