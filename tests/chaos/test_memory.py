"""Memory stays bounded, however many rows are written or read; counted without the pages of mapped files."""

import pytest

from tests.chaos.children import Child
from tests.chaos.conftest import LONG

MIB = 1024 * 1024

_MEASURE = """
import sys
from dex.engine.client import connect
from dex.wcl.commands import AppendRecords, FeedRecord, PutRow

def own_bytes():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024

def fill(rows):
    for start in range(0, rows, 1000):
        client.engine.execute_many(
            [PutRow(store="s", key=b"%08d" % i, payload=b"x" * 200, named={"u": i}) for i in range(start, start + 1000)]
        )
        records = [FeedRecord(key=b"%08d" % i, payload=b"x" * 200) for i in range(start, start + 1000)]
        client.execute(AppendRecords(feed="f", records=records))

def read():
    return sum(1 for row in client.state_store("s").iterate()) + sum(1 for row in client.state_store("over").iterate())

with connect(sys.argv[1]) as client:
    client.wcl("DEFINE STATESTORE s KEYS u UNIQUE; DEFINE FEED f")
    client.wcl("DEFINE STATESTORE over FROM FEED f KEYS k = RECORD_KEY")
    fill(5000)
    read()
    before = own_bytes()
    fill(int(sys.argv[2]))
    client.engine.settle()
    count = read()
    client.state_store("s").clear()
    client.engine.settle()
    print(count, own_bytes() - before)
"""


@pytest.mark.spec("S-12", "S-13", "F-01")
def test_import_iteration_and_sweeping_take_no_more_memory_for_more_rows(data_dir):
    rows = 200_000 if LONG else 20_000
    with Child(_MEASURE, data_dir, rows) as child:
        count, grown = map(int, child.end()[-1].split())
    assert count == 2 * rows
    assert grown < 24 * MIB
