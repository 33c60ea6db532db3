"""Several processes on one file: no error that the spec does not name, and no row lost."""

import sqlite3
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path

import pytest

from dex.engine.client import connect
from tests.chaos.children import Child
from tests.chaos.conftest import LONG, rounds

_PUTS = """
import sys, time
from dex.engine.client import connect
directory, who, count, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
with connect(directory) as client:
    print("ready")
    sys.stdin.readline()
    end = time.monotonic() + seconds
    number = 0
    while number < count or time.monotonic() < end:
        client.state_store("s").put(f"{who}-{number}", b"x" * 100, {"g": who, "u": f"{who}/{number}"})
        number += 1
print(number)
"""


def _write_from_four(data_dir: Path, count: int, seconds: float) -> int:
    """Give how many rows four processes say they wrote."""
    with connect(data_dir) as client:
        client.wcl("DEFINE STATESTORE s KEYS u UNIQUE, g")
    with ExitStack() as stack:
        children = [stack.enter_context(Child(_PUTS, data_dir, who, count, seconds)) for who in "abcd"]
        for child in children:
            assert child.hear() == "ready"
        for child in children:
            child.say("go")
        written = [int(child.end()[-1]) for child in children]
    with connect(data_dir) as client:
        store = client.state_store("s")
        assert [len(store.get_by("g", who).rows) for who in "abcd"] == written
        assert client.state_stores.describe("s").committed_seq == sum(written) + 1
    with closing(sqlite3.connect(data_dir / "dex.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return sum(written)


@pytest.mark.spec("S-01", "S-17")
def test_four_processes_put_250_rows_each_into_one_file(data_dir):
    """Case 29; in the long run they go on for half a minute."""
    written = _write_from_four(data_dir, 250, 30 if LONG else 0)
    assert written > 1000 if LONG else written == 1000


_CLAIMS = """
import sys
from dex.engine.client import connect
from dex.wcl.errors import Conflict
with connect(sys.argv[1]) as client:
    store = client.state_store("s")
    print("ready")
    sys.stdin.readline()
    won = []
    for number in range(100):
        try:
            store.put(f"{sys.argv[2]}-{number}", b"", {"u": number})
            won.append(number)
        except Conflict as error:
            assert error.reason == "unique", error
print(*won)
"""


@pytest.mark.spec("S-06")
def test_each_unique_value_is_won_by_exactly_one_of_several_processes(data_dir):
    with connect(data_dir) as client:
        client.wcl("DEFINE STATESTORE s KEYS u UNIQUE")
        with ExitStack() as stack:
            children = {who: stack.enter_context(Child(_CLAIMS, data_dir, who)) for who in "abc"}
            for child in children.values():
                child.hear()
            for child in children.values():
                child.say("go")
            won = {who: [int(number) for number in child.end()[-1].split()] for who, child in children.items()}
        assert sorted(chain.from_iterable(won.values())) == list(range(100))
        for who, numbers in won.items():
            for number in numbers:
                assert client.state_store("s").get(f"{who}-{number}") is not None


_OPENS = """
import sys
from dex.engine.client import connect
for line in sys.stdin:
    directory, who = line.split()
    with connect(directory) as client:
        (result,) = client.wcl("DEFINE STATESTORE s")
        seq = client.state_store("s").put(who, who).seq
    print(result.status, seq, flush=True)
"""


@pytest.mark.spec("S-17", "W-05")
def test_two_processes_make_the_same_new_directory_at_once(data_dir):
    with Child(_OPENS) as one, Child(_OPENS) as other:
        for number in range(rounds(20)):
            directory = data_dir / f"{number}"
            for who, child in (("one", one), ("other", other)):
                child.say(f"{directory} {who}")
            told = [child.hear().split() for child in (one, other)]
            assert sorted(status for status, _ in told) == ["created", "unchanged"]
            assert sorted(seq for _, seq in told) == ["2", "3"]
            with connect(directory) as client:
                assert [row.key for row in client.state_store("s").iterate()] == [b"one", b"other"]
        for child in (one, other):
            child.end()


_CHANGES = """
import sys
from dex.engine.client import connect
with connect(sys.argv[1]) as client:
    for line in sys.stdin:
        for result in client.commands(__import__("json").loads(line)):
            pass
        client.engine.settle()
        print("done", flush=True)
"""


@pytest.mark.spec("S-13", "S-14", "F-07", "S-09", "S-10", "S-12")
def test_a_reader_that_knows_old_definitions_answers_by_the_new_ones(data_dir):
    """Another process clears, rebuilds and drops, and sweeps the tables that the reader's statements name."""
    import json

    with connect(data_dir) as client, Child(_CHANGES, data_dir) as other:

        def elsewhere(*commands: dict) -> None:
            other.say(json.dumps(commands))
            assert other.hear() == "done"

        client.wcl("DEFINE FEED f; DEFINE STATESTORE s KEYS g; DEFINE STATESTORE over FROM FEED f KEYS id = RECORD_KEY")
        store, over = client.state_store("s"), client.state_store("over")
        elsewhere({"command": "append_records", "feed": "f", "records": [{"key": "r", "payload": "1"}]})
        for number in range(5):
            put = {"command": "put_row", "store": "s", "key": "k", "payload": f"{number}", "named": {"g": number}}
            elsewhere({"command": "clear_state_store", "name": "s"})
            assert store.get("k") is None
            assert store.get_by("g", number - 1).rows == []
            assert list(store.iterate()) == []
            elsewhere(put, {"command": "clear_state_store", "name": "s"}, put)
            assert store.get("k").payload == b"%d" % number
            elsewhere({"command": "clear_state_store", "name": "s"}, put)
            assert [row.payload for row in store.get_by("g", number).rows] == [b"%d" % number]
            elsewhere({"command": "clear_state_store", "name": "s"}, put)
            assert store.put("k", f"{number}").replaced
            elsewhere({"command": "rebuild_state_store", "name": "over"})
            assert over.get("r", strict=True).payload == b"1"
            assert [row.key for row in over.get_by("id", "r").rows] == [b"r"]
        elsewhere({"command": "drop_state_store", "name": "s"}, {"command": "drop_state_store", "name": "over"})
        for dropped in (store, over):
            for read in (lambda: dropped.get("k"), lambda: dropped.get_by("g", 1), dropped.page):  # noqa: B023  # called at once
                with pytest.raises(Exception, match="was dropped"):
                    read()
        other.end()
