"""How fast a node applies what others have written, beside a bare consumer that only counts."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dex.engine.client import Client
from dex.engine.cluster.servers import JournalServers
from tests.bench.clusters import Bare, journal_servers, node
from tests.bench.harness import Line, Pair, Run, interleave, speeds
from tests.bench.sample import define, fill

_PATIENCE_SECONDS = 600.0


class _Caught(NamedTuple):
    """The seconds of a node from its start to the end of the journal, and what of it came after the first batch."""

    seconds: float
    rows: int
    rows_seconds: float


class _Written(NamedTuple):
    """The stream that has the rows, the last position of a node, and the last message."""

    stream: str
    position: int
    message: int


def applying(run: Run) -> Iterator[Line]:
    """Apply the rows of another node, without what a start takes."""
    count = run.size(50_000, 5000)
    with journal_servers(run.folder) as servers, Bare(servers) as bare:
        written = _written(servers, run.folder, count)
        measured = interleave(
            lambda _: _applying(_catch_up(servers, run.folder, written.position)) * count,
            lambda _: bare.run(bare.read(written.stream, written.message)),
            run.pairs(3),
        )
        yield speeds("a node applies rows, a bare consumer", count, measured, None)


def catching_up(run: Run) -> Iterator[Line]:
    """Start a wiped node: by the whole journal, and with a snapshot. It takes minutes, so it is done once."""
    count = run.size(1_000_000, 500)
    with journal_servers(run.folder) as servers, Bare(servers) as bare:
        written = _written(servers, run.folder, count)
        reference = bare.run(bare.read(written.stream, written.message))
        whole = [Pair(_catch_up(servers, run.folder, written.position).seconds, reference)]
        yield speeds(f"a wiped node applies {count:,} rows, bare consumer", count, whole, None)
        with node(servers, run.folder) as engine:
            engine.snapshot()
        whole = [Pair(_catch_up(servers, run.folder, written.position).seconds, reference)]
        yield speeds("a wiped node has their snapshot, bare consumer", count, whole, None)


def _applying(caught: _Caught) -> float:
    """Give the seconds of a row."""
    return caught.rows_seconds / caught.rows


def _written(servers: JournalServers, folder: Path, count: int) -> _Written:
    """Have a node write rows."""
    with node(servers, folder) as engine:
        define(Client(engine))
        fill(Client(engine), count)
        (part,) = engine.partitions
        return _Written(part.stream.name, part.writer.applied, part.writer.message)


def _catch_up(servers: JournalServers, folder: Path, last: int) -> _Caught:
    shutil.rmtree(folder / "b", ignore_errors=True)
    began = time.perf_counter()
    with node(servers, folder, "b") as engine:
        (part,) = engine.partitions
        part.writer.wait_for(1, _PATIENCE_SECONDS)
        position, at = part.writer.applied, time.perf_counter()
        part.writer.wait_for(last, _PATIENCE_SECONDS)
        ended = time.perf_counter()
    return _Caught(ended - began, last - position, ended - at)


BENCHES = {"cluster-apply": applying, "cluster-catch-up": catching_up}
