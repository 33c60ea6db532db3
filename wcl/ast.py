"""What a script says, one node for each rule of the grammar.

Two nodes are equal when they say the same, wherever they stand: positions do not count.
"""

from typing import TypeAlias

import msgspec


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a node stands: line and column from 1, `start` and `end` as offsets."""

    line: int
    column: int
    start: int
    end: int


class Node(msgspec.Struct, frozen=True, eq=False):
    """What every node has in common: it is compared without its place, which is the last field."""

    def __eq__(self, other: object) -> bool:
        """Tell whether two nodes say the same."""
        return type(self) is type(other) and self._said() == other._said()

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash((type(self), self._said()))

    def _said(self) -> tuple[object, ...]:
        return msgspec.structs.astuple(self)[:-1]


class Metadata(Node, frozen=True):
    """`METADATA 'name'`."""

    name: str
    place: Place


class Json(Node, frozen=True):
    """`JSON 'a.b'`."""

    path: str
    place: Place


class RecordKey(Node, frozen=True):
    """`RECORD_KEY`."""

    place: Place


Extractor: TypeAlias = Metadata | Json | RecordKey


class Key(Node, frozen=True):
    """One entry of `KEYS`."""

    name: str
    extractor: Extractor | None
    unique: bool
    place: Place


class DefineStateStore(Node, frozen=True):
    """`DEFINE STATESTORE`; `feed` is None for a manual store."""

    name: str
    feed: str | None
    keys: tuple[Key, ...]
    if_not_exists: bool
    place: Place


class DropStateStore(Node, frozen=True):
    """`DROP STATESTORE`."""

    name: str
    if_exists: bool
    place: Place


class DescribeStateStore(Node, frozen=True):
    """`DESCRIBE STATESTORE`."""

    name: str
    place: Place


class ShowStateStores(Node, frozen=True):
    """`SHOW STATESTORES`."""

    place: Place


class DefineFeed(Node, frozen=True):
    """`DEFINE FEED`."""

    name: str
    if_not_exists: bool
    place: Place


class DropFeed(Node, frozen=True):
    """`DROP FEED`."""

    name: str
    if_exists: bool
    place: Place


class DescribeFeed(Node, frozen=True):
    """`DESCRIBE FEED`."""

    name: str
    place: Place


class ShowFeeds(Node, frozen=True):
    """`SHOW FEEDS`."""

    place: Place


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
