"""The freshness evidence of an engine (spec: S-09)."""

from dex.wcl.commands import Freshness
from dex.wcl.errors import Conflict

_EMBEDDED = "embedded"


def current(seq: int) -> Freshness:
    """Give the freshness of an answer that has everything that is committed."""
    return Freshness(seq, seq, 0, _EMBEDDED)


def lagging(applied_seq: int, committed_seq: int) -> Freshness:
    """Give the freshness of an answer that lacks what was committed after `applied_seq`."""
    return Freshness(applied_seq, committed_seq, committed_seq - applied_seq, _EMBEDDED)


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
