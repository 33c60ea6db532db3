"""Profile upserts from one thread and from many, and whether an RPC cares how much else there is."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median

from dex.engine.client import Client, connect
from dex.engine.flows.records import RunStarted, Write
from dex.engine.local import LocalEngine
from dex.samples.customer_directory import PARTITIONS, CustomerDirectory, CustomerProfile
from dex.wcl.commands.flows import Encoded
from tests.bench.harness import Goal, Line, Pair, Run, costs, interleave, seconds, speeds
from tests.bench.sample import scatter

_THREADS = 16
_AT_ONCE = 1000


def upserts(run: Run) -> Iterator[Line]:
    """Upsert profiles all over 1,000 partitions from 16 threads, the reference being our own single thread."""
    count = run.size(480, 32)
    with connect(run.folder / "threads") as many, connect(run.folder / "one") as one:
        shared, alone = _directory(many), _directory(one)
        with ThreadPoolExecutor(_THREADS) as pool:

            def ours(number: int) -> None:
                slices = [_profiles(number, count)[thread::_THREADS] for thread in range(_THREADS)]
                list(pool.map(lambda part: _upsert(shared, part), slices))

            measured = interleave(
                lambda number: seconds(lambda: ours(number)),
                lambda number: seconds(lambda: _upsert(alone, _profiles(number, count))),
                run.pairs(),
            )
    yield speeds(f"profile upserts over {PARTITIONS:,} partitions, 16 threads to 1", count, measured, None)


def map_size(run: Run) -> Iterator[Line]:
    """Upsert into a map of one instance and into one of very many, all alike."""
    instances = run.size(100_000, 200)
    with _two(run) as (great, small):
        name, value = great.flow.customer_profiles_by_email_partition.name, _bucket(great)
        for start in range(0, instances, _AT_ONCE):
            several = range(start, min(start + _AT_ONCE, instances))
            great.run.client.set_attributes(
                great.run.flow_id, {f"{name}/other-{scatter(number):010}": Encoded(value) for number in several}
            )
        yield from _latencies(run, f"{instances:,} map instances to 1", great, small)


def flow_count(run: Run) -> Iterator[Line]:
    """Upsert where there is one Flow and where there are very many."""
    flows = run.size(100_000, 200)
    with _two(run) as (great, small):
        engine = great.run.client.engine
        assert isinstance(engine, LocalEngine)
        write = Write(f"{great.flow.customer_profiles_by_email_partition.name}/partition-000", _bucket(great))
        for start in range(0, flows, _AT_ONCE):
            ids = (f"other-{scatter(number):010}" for number in range(start, min(start + _AT_ONCE, flows)))
            records = [
                RunStarted(
                    flow_id=id_, run_id=f"run-{id_}", type="CustomerDirectoryFlow", input=b"\xc0", writes=[write]
                )
                for id_ in ids
            ]
            engine.flows.parts.writer.write(records)
        yield from _latencies(run, f"{flows:,} Flows to 1", great, small)


@contextmanager
def _two(run: Run) -> Iterator[tuple[CustomerDirectory, CustomerDirectory]]:
    with connect(run.folder / "great") as great, connect(run.folder / "small") as small:
        yield _directory(great), _directory(small)


def _latencies(run: Run, against: str, great: CustomerDirectory, small: CustomerDirectory) -> Iterator[Line]:
    """Make the lines of a single call; the reads tell more, as they do not wait for the disk."""
    yield _latency(run, f"RPC that writes, {against}", great, small, lambda it, number: it.upsert(_profile(number)))
    yield _latency(
        run, f"RPC that reads, {against}", great, small, lambda it, number: it.get(_profile(number).email_address)
    )


def _latency(
    run: Run,
    name: str,
    great: CustomerDirectory,
    small: CustomerDirectory,
    call: Callable[[CustomerDirectory, int], object],
) -> Line:
    """Make the line of one call, turn and turn about, as what the disk does changes from moment to moment."""
    count = run.size(200, 5)
    measured: list[Pair] = []
    for pair in range(run.pairs()):
        numbers = range(pair * count, (pair + 1) * count)
        taken = [
            Pair(seconds(lambda: call(great, number)), seconds(lambda: call(small, number)))  # noqa: B023  # called at once
            for number in numbers
        ]
        measured.append(Pair(median(each.ours for each in taken), median(each.reference for each in taken)))
    return costs(name, "ms", measured, Goal("≤", 1.3), scale=1000)


def _directory(client: Client) -> CustomerDirectory:
    directory = CustomerDirectory(client)
    directory.run.start()
    return directory


def _bucket(directory: CustomerDirectory) -> bytes:
    """Give a partition of one profile in its stored form."""
    data = directory.flow.customer_profiles_by_email_partition.encode({"a@example.com": _profile(0)})
    assert data is not None
    return data


def _upsert(directory: CustomerDirectory, profiles: list[CustomerProfile]) -> None:
    for profile in profiles:
        directory.upsert(profile)


def _profiles(number: int, count: int) -> list[CustomerProfile]:
    """Give the profiles of one measurement, which no other has."""
    return [_profile(each) for each in range(number * count, (number + 1) * count)]


def _profile(number: int) -> CustomerProfile:
    return CustomerProfile(f"person-{number}@example.com", f"Person {number}", "Example Ltd", "gold")


BENCHES = {"upserts": upserts, "map-size": map_size, "flow-count": flow_count}
