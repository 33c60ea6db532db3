"""The freshness evidence of the embedded engine (spec: S-09)."""

from dex.wcl.commands import Freshness

SERVED_BY = "embedded"


def current(seq: int) -> Freshness:
    """Give the freshness of an answer that has everything that is committed."""
    return Freshness(seq, seq, 0, SERVED_BY)


def lagging(applied_seq: int, committed_seq: int) -> Freshness:
    """Give the freshness of an answer that lacks what was committed after `applied_seq`."""
    return Freshness(applied_seq, committed_seq, committed_seq - applied_seq, SERVED_BY)
