"""What a whole process costs, from start to exit, with its output to nowhere."""

import subprocess
import sys
from collections.abc import Iterator

from dex.engine.client import connect
from tests.bench import raw
from tests.bench.harness import Goal, Line, Run, costs, interleave, seconds
from tests.bench.programs import environment, program
from tests.bench.sample import STORE, define, fill, key, rows

_PAIRS = 25
_NOTHING = [sys.executable, "-c", "pass"]


def version(run: Run) -> Iterator[Line]:
    """`dex --version` against a bare interpreter."""
    yield _line(run, "dex --version, python -c pass", [program("dex"), "--version"], _NOTHING, Goal("≤", 2))


def completion(run: Run) -> Iterator[Line]:
    """The request that the generated completion makes for a store's name, against a bare interpreter."""
    _fill(run)
    request = [program("dex"), "__complete", "bash", "dex store get "]
    answer = subprocess.run(request, env=environment(run.folder), check=True, stdout=subprocess.PIPE, text=True)
    assert answer.stdout.split() == [STORE], "the request has to be one that finds the store"
    yield _line(run, "completion of a store, python -c pass", request, _NOTHING, Goal("≤", 4))


def store_get(run: Run) -> Iterator[Line]:
    """`dex store get` against sqlite-utils reading the same row."""
    _fill(run)
    wanted = key(1)
    store = raw.RawStore(run.folder / "raw.db")
    store.put_many(rows(run.size(1000, 10)))
    store.close()
    ours = [program("dex"), "store", "get", STORE, wanted.decode()]
    query = raw.GET.replace("?", "CAST(:key AS BLOB)")
    reference = [program("sqlite-utils"), "query", str(run.folder / "raw.db"), query, "-p", "key", wanted.decode()]
    yield _line(run, "dex store get, sqlite-utils query", ours, reference, Goal("≤", 0.6))


def _fill(run: Run) -> None:
    with connect(run.folder) as client:
        define(client)
        fill(client, run.size(1000, 10))


def _line(run: Run, name: str, ours: list[str], reference: list[str], goal: Goal) -> Line:
    variables = environment(run.folder)

    def start(command: list[str]) -> float:
        return seconds(lambda: subprocess.run(command, env=variables, check=True, stdout=subprocess.DEVNULL))

    measured = interleave(lambda _: start(ours), lambda _: start(reference), run.pairs(_PAIRS))
    return costs(name, "ms", measured, goal, scale=1000)


BENCHES = {"version": version, "completion": completion, "store-get": store_get}
