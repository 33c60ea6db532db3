"""What a script says, one node for each rule of the grammar.

Two nodes are equal when they say the same, wherever they stand: positions do not count.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class Place(NamedTuple):
    """Where a node stands: line and column from 1, `start` and `end` as offsets."""

    line: int
    column: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Metadata:
    """`METADATA 'name'`."""

    name: str
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Json:
    """`JSON 'a.b'`."""

    path: str
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RecordKey:
    """`RECORD_KEY`."""

    place: Place = field(compare=False, repr=False)


Extractor: TypeAlias = Metadata | Json | RecordKey


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of `KEYS`."""

    name: str
    extractor: Extractor | None
    unique: bool
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DefineStateStore:
    """`DEFINE STATESTORE`; `feed` is None for a manual store."""

    name: str
    feed: str | None
    keys: tuple[Key, ...]
    if_not_exists: bool
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropStateStore:
    """`DROP STATESTORE`."""

    name: str
    if_exists: bool
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DescribeStateStore:
    """`DESCRIBE STATESTORE`."""

    name: str
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ShowStateStores:
    """`SHOW STATESTORES`."""

    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DefineFeed:
    """`DEFINE FEED`."""

    name: str
    if_not_exists: bool
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropFeed:
    """`DROP FEED`."""

    name: str
    if_exists: bool
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DescribeFeed:
    """`DESCRIBE FEED`."""

    name: str
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ShowFeeds:
    """`SHOW FEEDS`."""

    place: Place = field(compare=False, repr=False)


Statement: TypeAlias = (
    DefineStateStore
    | DropStateStore
    | DescribeStateStore
    | ShowStateStores
    | DefineFeed
    | DropFeed
    | DescribeFeed
    | ShowFeeds
)
