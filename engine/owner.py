"""Who owns a partition of a cluster, as its journal says: the log itself fences an owner that was deposed (spec: K-05).

The records of Flows carry the epoch of the owner that made them. Those of an epoch that is not the newest are refused
by apply, on every node alike.
"""

import sqlite3
from typing import NamedTuple

import msgspec

from dex.engine.apply import Apply, Outcome
from dex.wcl.errors import Unavailable


class OwnerChanged(msgspec.Struct, frozen=True, kw_only=True, tag_field="command", tag="owner_changed"):
    """A node has taken the partition over; it is reached at `url`."""

    epoch: int
    node: str
    url: str


class Owner(NamedTuple):
    """Who owns the partition; epoch 0 is nobody."""

    epoch: int
    node: str
    url: str


def owner(connection: sqlite3.Connection) -> Owner:
    """Give the owner at this position of the journal."""
    return Owner(*connection.execute("SELECT epoch, node, url FROM owner").fetchone())


def change_owner(surroundings: Apply, record: OwnerChanged) -> Outcome:
    """Apply a take-over.

    Raises:
        Unavailable: its epoch is not above that of the last one.
    """
    newest = owner(surroundings.connection).epoch
    if record.epoch <= newest:
        raise Unavailable(
            f"another node took the partition over first (epoch {record.epoch}, now {newest})",
            "try again",
            reason="deposed",
        )
    surroundings.connection.execute(
        "UPDATE owner SET epoch = ?, node = ?, url = ?", (record.epoch, record.node, record.url)
    )
    return Outcome(None)


def check_epoch(connection: sqlite3.Connection, epoch: int) -> None:
    """Refuse what an owner has made that was deposed since.

    Raises:
        Unavailable: the epoch is not the newest.
    """
    newest = owner(connection).epoch
    if epoch != newest:
        raise Unavailable(
            f"this node's ownership ended before the change was committed (epoch {epoch}, now {newest})",
            "try again; nothing of it was kept",
            reason="deposed",
        )


def not_owner() -> Unavailable:
    """Give the error for what only an owner may do, and this node does not own the partition (spec: K-07)."""
    return Unavailable("this node does not own the partition", "ask its owner", reason="not_owner")
