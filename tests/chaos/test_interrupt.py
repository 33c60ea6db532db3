"""Ctrl-C: wherever it strikes, the process goes on with the next command, and leaves no lock and no transaction."""

import random
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from dex.engine.client import connect
from dex.wcl.commands import PutRow
from tests.chaos.children import Child
from tests.chaos.conftest import rounds

_LOOP = """
import itertools, signal, sys
from dex.engine.client import connect

armed = False
def interrupt(number, frame):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupt)

client = connect(sys.argv[1])
store = client.state_store("s")
def put():
    for number in itertools.count():
        store.put(f"put-{number % 50}", b"x" * 100, {"u": number})
def batch():
    from dex.wcl.commands import PutRow
    for number in itertools.count():
        client.engine.execute_many([PutRow(store="s", key=b"b%d" % i) for i in range(100)])
def iterate():
    while True:
        for row in store.iterate():
            pass
def look():
    while True:
        store.get("0007"), store.get_by("u", "7"), client.state_stores.describe("s"), client.state_stores.list()
work = {"put": put, "batch": batch, "iterate": iterate, "look": look}[sys.argv[2]]
print("ready")
while sys.stdin.readline().strip() == "again":
    try:
        armed = True
        print("working")
        work()
    except KeyboardInterrupt:
        print("interrupted")
store.put("last", "")
client.close()
print("well")
"""


def _fill(data_dir: Path) -> None:
    with connect(data_dir) as client:
        client.wcl("DEFINE STATESTORE s KEYS u UNIQUE")
        client.engine.execute_many(
            [PutRow(store="s", key=b"%04d" % i, payload=b"x", named={"u": f"{i}"}) for i in range(3000)]
        )


def _nobody_holds(path: Path) -> None:
    """Take the write lock, and see that no reader keeps the log from being emptied.

    The child's housekeeping may be in one of its short passes; what an interrupt left would stay.
    """
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("COMMIT")
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


@pytest.mark.spec("S-17", "P-01")
@pytest.mark.parametrize("work", ["put", "batch", "iterate", "look"])
def test_an_interrupt_at_any_moment_leaves_no_lock_and_the_next_call_works(data_dir, work):
    """Case 13."""
    _fill(data_dir)
    chance = random.Random(work)
    with Child(_LOOP, data_dir, work) as child:
        assert child.hear() == "ready"
        for _ in range(rounds(15)):
            child.say("again")
            assert child.hear() == "working"
            time.sleep(chance.random() * 0.02)
            child.signal(signal.SIGINT)
            assert child.hear() == "interrupted"
            _nobody_holds(data_dir / "dex.db")
        child.say("end")
        assert child.end() == ["well"]
    with connect(data_dir) as client:
        assert client.state_store("s").get("last") is not None
        with closing(sqlite3.connect(data_dir / "dex.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


_WAITS = """
import sys, threading
from dex.engine.client import connect
client = connect(sys.argv[1])
store = client.state_store("s")
store.put("first", "")
def put(key):
    store.put(key, "")
    print("put", key)
print("ready")
sys.stdin.readline()
background = threading.Thread(target=put, args=("background",))
if sys.argv[2] == "behind":
    background.start()
    while client.engine._writer._leader is None:
        pass
print("waiting")
try:
    put("foreground")
except KeyboardInterrupt:
    print("interrupted")
sys.stdin.readline()
if sys.argv[2] == "behind":
    background.join()
put("next")
client.close()
"""


@pytest.mark.spec("S-17", "P-01")
@pytest.mark.parametrize("place", ["ahead", "behind"])
def test_an_interrupt_ends_the_wait_for_another_process_and_for_another_thread(data_dir, place):
    """The other process holds the file until after the interrupt, so that only the interrupt can end the wait."""
    _fill(data_dir)
    with Child(_WAITS, data_dir, place) as child:
        assert child.hear() == "ready"
        with closing(sqlite3.connect(data_dir / "dex.db", isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            child.say("go")
            assert child.hear() == "waiting"
            time.sleep(0.05)  # so that it has begun to wait; a signal before that is served as well
            child.signal(signal.SIGINT)
            assert child.hear() == "interrupted"
            holder.execute("ROLLBACK")
        child.say("go on")
        expected = ["put background", "put next"] if place == "behind" else ["put next"]
        assert child.end() == expected
    with connect(data_dir) as client:
        assert client.state_store("s").get("foreground") is None
        assert client.state_store("s").get("next") is not None
