"""One put per commit, on disk before it returns, and what threads gain by sharing commits."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from dex.engine.client import connect
from dex.engine.statestore import StateStore
from tests.bench.harness import Goal, Line, Run, interleave, seconds, speeds
from tests.bench.raw import RawStore
from tests.bench.sample import Row, define, rows

_THREADS = 16


def put_100(run: Run) -> Iterator[Line]:
    """Put rows of 100 bytes."""
    yield _against_raw(run, "put, 100 B", 100)


def put_4k(run: Run) -> Iterator[Line]:
    """Put rows of 4 KiB."""
    yield _against_raw(run, "put, 4 KiB", 4096)


def put_threads(run: Run) -> Iterator[Line]:
    """Put from 16 threads, the reference being our own single thread."""
    count = run.size(480, 32)
    with connect(run.folder / "threads") as many, connect(run.folder / "one") as one:
        shared, alone = define(many), define(one)
        with ThreadPoolExecutor(_THREADS) as pool:

            def ours(number: int) -> float:
                slices = [_rows(number, count)[thread::_THREADS] for thread in range(_THREADS)]
                return seconds(lambda: list(pool.map(lambda part: _put_all(shared, part), slices)))

            def reference(number: int) -> float:
                several = _rows(number, count)
                return seconds(lambda: _put_all(alone, several))

            yield speeds("put, 16 threads", count, interleave(ours, reference, run.pairs()), Goal("≥", 2))


def _against_raw(run: Run, name: str, payload_bytes: int) -> Line:
    count = run.size(250, 20)
    raw = RawStore(run.folder / "raw.db")
    with connect(run.folder) as client:
        store = define(client)

        def ours(number: int) -> float:
            several = _rows(number, count, payload_bytes)
            return seconds(lambda: _put_all(store, several))

        def reference(number: int) -> float:
            several = _rows(number, count, payload_bytes)
            return seconds(lambda: _put_all_raw(raw, several))

        measured = interleave(ours, reference, run.pairs(9))
    raw.close()
    return speeds(name, count, measured, Goal("≥", 0.7))


def _rows(number: int, count: int, payload_bytes: int = 100) -> list[Row]:
    """Give the rows of one measurement, which no other has."""
    return list(rows(count, payload_bytes, start=number * count))


def _put_all(store: StateStore, several: list[Row]) -> None:
    for row in several:
        named = {"department": row.department, "passport": row.passport}
        store.put(row.key, row.payload, named, mutation_id=_mutation_id(row))


def _put_all_raw(raw: RawStore, several: list[Row]) -> None:
    for row in several:
        raw.put(row, _mutation_id(row))


def _mutation_id(row: Row) -> str:
    return f"mutation-{row.passport}"


BENCHES = {"put-100": put_100, "put-4k": put_4k, "put-threads": put_threads}
