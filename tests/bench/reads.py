"""Reads through the SDK, each row as an object with its named values and freshness."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dex.engine.client import connect
from dex.engine.statestore import StateStore
from tests.bench.harness import Goal, Line, Run, interleave, seconds, speeds
from tests.bench.raw import RawStore
from tests.bench.sample import PER_GROUP, STORE, define, fill, key, rows, scatter


def get(run: Run) -> Iterator[Line]:
    """Read rows by key, in no order."""
    with _filled(run) as (store, raw, stored):
        keys = [key(scatter(number) % stored) for number in range(run.size(20_000, 50))]
        yield _line(run, "get", len(keys), lambda: _each(store.get, keys), lambda: _each(raw.get, keys), 0.3)


def get_by(run: Run) -> Iterator[Line]:
    """Read ten rows by their named value."""
    with _filled(run) as (store, raw, stored):
        groups = stored // PER_GROUP
        wanted = [f"department-{scatter(number) % groups}" for number in range(run.size(4000, 10))]

        def ours() -> None:
            for department in wanted:
                store.get_by("department", department)

        yield _line(run, "get_by, 10 rows", len(wanted), ours, lambda: _each(raw.get_by, wanted), 0.5)


def iterate(run: Run) -> Iterator[Line]:
    """Read every row in key order."""
    with _filled(run) as (store, raw, stored):
        yield _line(run, "iterate", stored, lambda: _drain(store.iterate()), lambda: _drain(raw.iterate()), 0.4)


@contextmanager
def _filled(run: Run) -> Iterator[tuple[StateStore, RawStore, int]]:
    """Give the store and the reference with the same rows, and how many there are."""
    stored = run.size(100_000, 500)
    raw = RawStore(run.folder / "raw.db")
    raw.put_many(rows(stored))
    raw.close()
    with connect(run.folder) as client:
        define(client)
        fill(client, stored)
    # Closing moved all pages from the log to the file: either side would be much slower at reading them in the log.
    raw = RawStore(run.folder / "raw.db")
    with connect(run.folder) as client:
        yield client.state_store(STORE), raw, stored
    raw.close()


def _line(
    run: Run, name: str, count: int, ours: Callable[[], None], reference: Callable[[], None], at_least: float
) -> Line:
    measured = interleave(lambda _: seconds(ours), lambda _: seconds(reference), run.pairs(9))
    return speeds(name, count, measured, Goal("≥", at_least))


def _each(read: Callable[[str], object] | Callable[[bytes], object], wanted: list[str] | list[bytes]) -> None:
    for one in wanted:
        read(one)  # type: ignore[arg-type]  # the callers pass keys to what takes keys


def _drain(rows_: Iterator[object]) -> None:
    deque(rows_, maxlen=0)


BENCHES = {"get": get, "get-by": get_by, "iterate": iterate}
