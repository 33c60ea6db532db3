"""Clearing and dropping a great store: how soon it returns, and how long puts wait while it is being swept."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from dex.engine.client import Client, connect
from dex.engine.sqlite.connection import database_path, open_existing
from dex.engine.statestore import StateStore
from tests.bench.harness import Goal, Line, Pair, Run, costs, seconds
from tests.bench.sample import define, fill, rows

_RETURN_SECONDS = 0.05
_GREAT = "bench.great"
_OTHER = "bench.other"


def clear_and_drop(run: Run) -> Iterator[Line]:
    """Clear, and drop, a store while another is being put to; each time in a fresh copy of the same file."""
    count = run.size(1_000_000, 2000)
    with connect(run.folder / "great") as client:
        define(client, _GREAT)
        define(client, _OTHER)
        fill(client, count, _GREAT)
    yield from _lines(run, f"clear of {count:,} rows", lambda client: client.state_store(_GREAT).clear())
    yield from _lines(run, f"drop of {count:,} rows", lambda client: client.state_stores.drop(_GREAT))


class _Putter(threading.Thread):
    """Puts one row after another to a store and keeps how long each took."""

    def __init__(self, store: StateStore) -> None:
        super().__init__(name="bench-putter")
        self._store = store
        self._stopping = threading.Event()
        self.taken: list[float] = []

    def run(self) -> None:
        """Put until told to stop."""
        number = 0
        while not self._stopping.is_set():
            (row,) = rows(1, start=number)
            named = {"department": row.department, "passport": row.passport}
            began = time.perf_counter()
            self._store.put(row.key, row.payload, named)
            self.taken.append(time.perf_counter() - began)
            number += 1

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self.join()


def _lines(run: Run, name: str, empty: Callable[[Client], object]) -> Iterator[Line]:
    returned: list[Pair] = []
    p99s: list[Pair] = []
    for number in range(run.pairs()):
        folder = run.folder / f"copy-{number}"
        shutil.copytree(run.folder / "great", folder)
        took, pair = _measure(folder, empty, run.size(4000, 100) / 1000)
        returned.append(Pair(took, _RETURN_SECONDS))
        p99s.append(pair)
        shutil.rmtree(folder)
    yield costs(f"{name}, the limit", "ms", returned, Goal("≤", 1), scale=1000)
    yield costs(f"p99 of a put after {name}, before", "ms", p99s, Goal("≤", 1.3), scale=1000)


def _measure(folder: Path, empty: Callable[[Client], object], window: float) -> tuple[float, Pair]:
    """Give how long emptying took, and the p99 of puts while its rows are swept and before, in seconds each."""
    os.sync()  # so that the disk is not still busy with the copy
    with connect(folder) as client:
        putter = _Putter(client.state_store(_OTHER))
        putter.start()
        time.sleep(window)
        first = len(putter.taken)
        took = seconds(lambda: empty(client))
        _wait_while_sweeping(folder, window)
        putter.stop()
    return took, Pair(_p99(putter.taken[first:]), _p99(putter.taken[:first]))


def _wait_while_sweeping(folder: Path, at_most: float) -> None:
    """Wait until everything is swept, but no longer than the puts are to be watched."""
    deadline = time.monotonic() + at_most
    while time.monotonic() < deadline and _is_sweeping(folder):
        time.sleep(0.05)


def _is_sweeping(folder: Path) -> bool:
    connection = open_existing(database_path(folder))
    assert connection is not None
    with closing(connection):
        return connection.execute("SELECT 1 FROM garbage").fetchone() is not None


def _p99(taken: list[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.99)]


BENCHES = {"clear-drop": clear_and_drop}
