"""The freshness evidence of an engine (spec: S-09)."""

from dex.wcl.commands import Freshness

_served_by = "embedded"


def serve_as(name: str) -> None:
    """Name this process in all its answers from now on: a node of a cluster."""
    global _served_by  # noqa: PLW0603  # who answers is the process
    _served_by = name


def current(seq: int) -> Freshness:
    """Give the freshness of an answer that has everything that is committed."""
    return Freshness(seq, seq, 0, _served_by)


def lagging(applied_seq: int, committed_seq: int) -> Freshness:
    """Give the freshness of an answer that lacks what was committed after `applied_seq`."""
    return Freshness(applied_seq, committed_seq, committed_seq - applied_seq, _served_by)
