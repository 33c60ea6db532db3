"""Long polls: wait until something is so, bounded (spec: FL-10)."""

from collections.abc import Callable
from typing import TypeVar

from dex.engine.flows.runtime.parts import Parts
from dex.engine.reader import Snapshot
from dex.wcl.durations import format_duration
from dex.wcl.errors import LongPollTimeoutError

T = TypeVar("T")

# Commits of other processes wake nobody here.
_POLL_SECONDS = 0.02


def poll(parts: Parts, run_id: str, wait_ms: int, look: Callable[[Snapshot], T | None]) -> T | None:
    """Look into fresh snapshots, at each commit of a run, until there is an answer; None when `wait_ms` are over."""
    deadline = parts.clock.monotonic() + wait_ms / 1000
    with parts.changes.of(run_id) as changes:
        while True:
            seen = changes.seen()
            with parts.readers.brief() as snapshot:
                found = look(snapshot)
            remaining = deadline - parts.clock.monotonic()
            if found is not None or remaining <= 0:
                return found
            changes.wait(seen, min(_POLL_SECONDS, remaining))


def must(found: T | None, what: str, wait_ms: int, remedy: str = "wait again, or look at `dex flow state`") -> T:
    """Give what a poll found.

    Raises:
        LongPollTimeoutError: it found nothing in time.
    """
    if found is None:
        raise LongPollTimeoutError(
            f"{what} within {format_duration(wait_ms / 1000)}", remedy, waited_seconds=wait_ms / 1000
        )
    return found
