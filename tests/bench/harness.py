"""Pairs of measurements, and the lines that are made of them."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

import msgspec

PAIRS = 5


class Goal(NamedTuple):
    """What a ratio has to be."""

    sense: Literal["≤", "≥"]
    bound: float

    def met(self, ratio: float) -> bool:
        """Tell whether a ratio is good enough."""
        return ratio <= self.bound if self.sense == "≤" else ratio >= self.bound


class Line(msgspec.Struct, kw_only=True):
    """One line of the table. `ours` and `reference` are medians in `unit`; `low` and `high` bound the ratio."""

    name: str
    unit: str
    ours: float
    reference: float
    ratio: float
    low: float
    high: float
    goal: Goal | None
    pairs: int

    @property
    def met(self) -> bool | None:
        """Tell whether the goal is met; None where there is none and the line only informs."""
        return None if self.goal is None else self.goal.met(self.ratio)


class Pair(NamedTuple):
    """The same work done by us and by the reference, one right after the other: seconds, bytes or what is counted."""

    ours: float
    reference: float


class Run(NamedTuple):
    """What every benchmark is handed: a folder of its own on a real disk, and how thorough to be."""

    folder: Path
    quick: bool

    def size(self, full: int, quick: int) -> int:
        """Give the size of the work."""
        return quick if self.quick else full

    def pairs(self, full: int = PAIRS) -> int:
        """Give the number of pairs to measure."""
        return 1 if self.quick else full


class Skipped(Exception):
    """A benchmark cannot run here, and why; the lines that it has given stand."""


Bench = Callable[[Run], Iterator[Line]]
"""A benchmark: a few lines that share their preparation."""

Sample = Callable[[int], float]
"""One measurement, told its number from 0, so that it can use other rows than those before; it gives its seconds."""


def interleave(ours: Sample, reference: Sample, pairs: int) -> list[Pair]:
    """Measure A B A B …; the first pair warms caches up and is not kept."""
    measured = [Pair(ours(number), reference(number)) for number in range(pairs + 1)]
    return measured[1:]


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def costs(name: str, unit: str, pairs: list[Pair], goal: Goal | None, scale: float = 1.0) -> Line:
    """Make the line for something of which less is better; `scale` turns what was measured into `unit`."""
    return _line(name, unit, [Pair(pair.ours * scale, pair.reference * scale) for pair in pairs], goal)


def speeds(name: str, count: int, pairs: list[Pair], goal: Goal | None) -> Line:
    """Make the line for `count` pieces of work in so many seconds: the ratio is that of the speeds."""
    return _line(name, "/s", [Pair(count / pair.ours, count / pair.reference) for pair in pairs], goal)


def _line(name: str, unit: str, pairs: list[Pair], goal: Goal | None) -> Line:
    ratios = [pair.ours / pair.reference for pair in pairs]
    return Line(
        name=name,
        unit=unit,
        ours=median(pair.ours for pair in pairs),
        reference=median(pair.reference for pair in pairs),
        ratio=median(ratios),
        low=min(ratios),
        high=max(ratios),
        goal=goal,
        pairs=len(pairs),
    )
