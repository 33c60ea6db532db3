"""The freshness evidence of an engine (spec: S-09)."""

from collections.abc import Callable
from typing import TypeAlias

from dex.wcl.commands import Freshness
from dex.wcl.errors import Conflict

Evidence: TypeAlias = Callable[[int, int], Freshness]
"""Gives the freshness of an answer from the position it has, and the last one that the file has."""

_EMBEDDED = "embedded"


def embedded(applied_seq: int, committed_seq: int) -> Freshness:
    """Give the freshness of an answer where the file has all that is committed."""
    return Freshness(applied_seq, committed_seq, committed_seq - applied_seq, _EMBEDDED)


def current(seq: int) -> Freshness:
    """Give the freshness of what a mutation at `seq` gives."""
    return Freshness(seq, seq, 0, _EMBEDDED)


def index_behind(store: str, lag: str, how_fresh: Freshness) -> Conflict:
    """Give the error of a strict read whose wait ended first; `lag` says how the store lags (spec: S-11)."""
    return Conflict(
        f"store {store!r} {lag}",
        "retry, wait longer, or drop strict",
        reason="index_behind",
        store=store,
        applied_seq=how_fresh.applied_seq,
        committed_seq=how_fresh.committed_seq,
        behind=how_fresh.behind,
    )
