"""Closing one engine takes no lock from another of the same process: POSIX drops them all with any descriptor."""

import sqlite3
from contextlib import closing

import pytest

from dex.engine.client import connect
from dex.engine.names import list_names
from tests.chaos.children import Child

_WRITES = """
import sys
from dex.engine.client import connect
for line in sys.stdin:
    with connect(sys.argv[1]) as client:
        client.state_store("s").put(line.strip(), "")
    print("done", flush=True)
"""


@pytest.mark.spec("S-01", "S-17")
def test_engines_that_come_and_go_beside_an_open_one_lose_no_row_of_another_process(data_dir):
    with connect(data_dir) as client, Child(_WRITES, data_dir) as other:
        client.wcl("DEFINE STATESTORE s")
        store = client.state_store("s")
        for number in range(20):
            store.put(f"here-{number}", "")
            with connect(data_dir) as passing:
                passing.state_store("s").put(f"passing-{number}", "")
            assert list_names(str(data_dir), "store") == ["s"]
            other.say(f"there-{number}")
            assert other.hear() == "done"
            assert store.get(f"there-{number}") is not None
            assert (data_dir / "dex.db-wal").exists()
        assert len(list(store.iterate())) == 60
    with closing(sqlite3.connect(data_dir / "dex.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
