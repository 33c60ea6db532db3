"""kill -9 at any moment: what was acknowledged is there, nothing is there by half, and a retry writes once."""

import random
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from dex.engine.client import connect
from tests.chaos.children import Child
from tests.chaos.conftest import rounds
from tests.chaos.operations import SETUP, carry_out, expected, traces

_RUN = "import tests.chaos.operations as operations; operations.main()"


def _killed(data_dir: Path, first: int, chance: random.Random) -> int:
    """Run operations in a process, kill it in the middle of one, and give the number of the last acknowledged."""
    last = first - 1
    with Child(_RUN, data_dir, first) as child:
        for _ in range(chance.randrange(1, 40)):
            last = int(child.hear())
        moment = time.perf_counter() + chance.random() * 0.003
        while time.perf_counter() < moment:
            pass
        child.signal(signal.SIGKILL)
        while line := child.hear():
            last = int(line)
    return last


def _consistent(path: Path) -> None:
    """The file is whole, the journal has no gaps, and each row and outcome has its record in it."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        journaled = [seq for (seq,) in connection.execute("SELECT seq FROM journal ORDER BY seq")]
        assert journaled == list(range(1, len(journaled) + 1))
        rows = {seq for (seq,) in connection.execute("SELECT id FROM rows_1_0")}
        outcomes = {seq for (seq,) in connection.execute("SELECT seq FROM outcomes")}
        appended = {seq for (seq,) in connection.execute("SELECT DISTINCT journal_seq FROM feed_2")}
        with_id = {seq for seq, at in connection.execute("SELECT id, key FROM rows_1_0") if b"-" not in at}
        # A batch that is sent again is journaled again and replaces its rows, which keep their first position.
        assert rows | appended <= set(journaled)
        assert outcomes == with_id | appended


@pytest.mark.spec("S-01", "S-07", "F-01", "F-02")
def test_kill_9_loses_nothing_acknowledged_leaves_nothing_by_half_and_a_retry_writes_once(data_dir):
    """Case 30: the kill between commit and reply is among them. One file goes through all rounds."""
    chance = random.Random(20240229)
    number = 0
    for _ in range(rounds(6)):
        first = number
        number = _killed(data_dir, first, chance) + 1
        with connect(data_dir) as client:
            client.wcl(SETUP)
            for done in range(first, number):
                assert traces(client, done) == expected(done)
            left = traces(client, number)
            assert left in {0, expected(number)}
            assert traces(client, number + 1) == 0
            replayed = carry_out(client, number)
            assert replayed is (left > 0 and number % 4 != 2)
            assert traces(client, number) == expected(number)
        _consistent(data_dir / "dex.db")
        number += 1
