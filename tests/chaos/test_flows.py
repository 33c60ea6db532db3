"""Flows under kill -9, many threads and many processes: nothing acknowledged is lost, nothing happens twice."""

import random
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import pytest

from dex.engine.client import Client, connect
from dex.samples.chunked_subscribers import FLOW_ID, ChunkedSubscribers
from dex.wcl.commands.flows import PageHistory
from tests.chaos.children import Child
from tests.chaos.conftest import LONG, rounds
from tests.chaos.flows import COUNT, LAST, PATIENT, Counting, start_list, subscribers

_RUN = "import tests.chaos.flows as flows; flows.main()"


def _spin(seconds: float) -> None:
    """Let a moment pass that a sleep is too coarse for."""
    moment = time.perf_counter() + seconds
    while time.perf_counter() < moment:
        pass


def _archives(client: Client) -> dict[str, object]:
    values = client.get_attributes(FLOW_ID)
    return {key: value for key, value in values.items() if key[-1].isdigit()}


def _whole(path: Path) -> None:
    """The file is sound, and every run's history counts without a gap."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for count, last in connection.execute("SELECT count(*), max(number) FROM history GROUP BY run"):
            assert count == last


@pytest.mark.spec("FL-06", "FL-07", "C-02", "C-05")
def test_kill_9_loses_no_acknowledged_append_and_leaves_no_gap_and_no_lock(data_dir):
    """Case 34: a process is killed inside a locking RPC, before, in or after its commit; the next one goes on."""
    chance = random.Random(20240310)
    acknowledged: dict[int, str] = {}
    archives: dict[str, object] = {}
    with connect(data_dir) as client:
        start_list(client)
    for number in range(rounds(5)):
        with Child(_RUN, "append", data_dir, f"p{number}", 10_000, 0) as child:
            assert child.hear() == "ready"
            child.say("go")
            heard = [child.hear() for _ in range(chance.randrange(1, 60))]
            _spin(chance.random() * 0.003)
            child.signal(signal.SIGKILL)
            while line := child.hear():
                heard.append(line)
        for sequence, name in (line.split() for line in heard):
            assert int(sequence) not in acknowledged
            acknowledged[int(sequence)] = name
        with connect(data_dir) as client:
            found = subscribers(client)
            assert [one.sequence for one in found] == list(range(len(found), 0, -1))
            names = {one.sequence: one.subscriber_id for one in found}
            assert acknowledged.items() <= names.items()
            # At most the last one of each process was committed and not acknowledged.
            assert len(names) <= len(acknowledged) + number + 1
            assert len(set(names.values())) == len(names)
            now = _archives(client)
            assert archives.items() <= now.items()
            archives = now
            ChunkedSubscribers(client).register(f"after-{number}", "at once")
            acknowledged[len(names) + 1] = f"after-{number}"
        _whole(data_dir / "dex.db")


@pytest.mark.spec("FL-08", "FL-06")
def test_kill_9_between_and_in_steps_resumes_from_the_last_commit(data_dir):
    """Each step adds one to an Attribute: what is committed is neither run again nor passed over.

    An attempt that was killed is told in the history, and tried again.
    """
    chance = random.Random(20240311)
    with connect(data_dir) as client:
        client.engine.flows.worker.start = lambda: None
        client.start_flow(Counting, "count", 1)
    kills, reached = 0, 0
    while kills < rounds(4) and reached < LAST:
        with Child(_RUN, "work", data_dir) as child:
            assert child.hear() == "ready"
            aim = reached + chance.randrange(1, 30)
            while reached < min(aim, LAST):
                now = int(child.hear())
                assert now >= reached
                reached = now
            _spin(chance.random() * 0.003)
            child.signal(signal.SIGKILL)
        kills += 1
    with connect(data_dir) as client:
        client.register(Counting)
        assert client.wait_for_flow("count", timedelta(minutes=1)).output == LAST
        assert client.get_attribute(COUNT, "count") == LAST
        events = client.execute(PageHistory(flow_id="count", limit=1000)).events
        done = [event.detail["step"] for event in events[1:] if event.detail["outcome"] != "retry"]
        assert done == [f"Count-{number}" for number in range(1, LAST + 1)]
    _whole(data_dir / "dex.db")


@pytest.mark.spec("FL-07", "C-02", "C-05")
def test_sixteen_threads_append_without_gap_or_double(data_dir):
    """In the long run they go on for half a minute."""
    end = time.monotonic() + (30 if LONG else 0)
    with connect(data_dir) as client:
        start_list(client)

        def append(who: int) -> list[int]:
            list_, sequences = ChunkedSubscribers(client, PATIENT), []
            while len(sequences) < 15 or time.monotonic() < end:
                sequences.append(list_.register(f"{who}-{len(sequences)}", "x").sequence)
            return sequences

        with ThreadPoolExecutor(16) as pool:
            taken = list(pool.map(append, range(16)))
        _all_there(client, taken)


@pytest.mark.spec("FL-07", "C-02", "C-05")
def test_four_processes_append_without_gap_or_double(data_dir):
    """In the long run they go on for half a minute."""
    with connect(data_dir) as client:
        start_list(client)
        with ExitStack() as stack:
            arguments = (40, 30 if LONG else 0)
            children = [stack.enter_context(Child(_RUN, "append", data_dir, who, *arguments)) for who in "abcd"]
            for child in children:
                assert child.hear() == "ready"
            for child in children:
                child.say("go")
            taken = []
            for child in children:
                lines = []
                while line := child.hear():
                    lines.append(int(line.split()[0]))
                assert child.end() == []
                taken.append(lines)
        _all_there(client, taken)


def _all_there(client: Client, taken: list[list[int]]) -> None:
    sequences = sorted(sequence for some in taken for sequence in some)
    assert sequences == list(range(1, len(sequences) + 1))
    assert all(some == sorted(some) for some in taken)
    assert [one.sequence for one in subscribers(client)] == sequences[::-1]
    assert [len(chunk) for chunk in _archives(client).values()] == [100] * ((len(sequences) - 1) // 100)
    before = _archives(client)
    ChunkedSubscribers(client).register("one-more", "x")
    assert before.items() <= _archives(client).items()
