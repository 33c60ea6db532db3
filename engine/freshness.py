"""The freshness evidence of an engine (spec: S-09)."""

from dex.wcl.commands import Freshness

_EMBEDDED = "embedded"


def current(seq: int) -> Freshness:
    """Give the freshness of an answer that has everything that is committed."""
    return Freshness(seq, seq, 0, _EMBEDDED)


def lagging(applied_seq: int, committed_seq: int) -> Freshness:
    """Give the freshness of an answer that lacks what was committed after `applied_seq`."""
    return Freshness(applied_seq, committed_seq, committed_seq - applied_seq, _EMBEDDED)
