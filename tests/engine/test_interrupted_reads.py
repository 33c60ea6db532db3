"""Reading: an interrupt at any line leaves no transaction open and no reader in use."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from dex.engine.local import LocalEngine
from dex.wcl.commands import DefineStateStore, GetBy, GetRow, NamedKey, PageRows, PutRow, ShowStateStores, StoreRow
from tests.engine.interrupts import Caller

READS = [
    GetRow(store="s", key=b"k"),
    GetRow(store="s", key=b"k", strict=True),
    GetBy(store="s", named_key="g", value=1),
    PageRows(store="s"),
    ShowStateStores(),
]


@pytest.fixture
def little_garbage() -> Iterator[None]:
    """Collect garbage of this test alone: all that the suite has loaded would be gone through at each line."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("little_garbage")
@pytest.mark.spec("S-09", "S-17")
@pytest.mark.parametrize("command", READS, ids=lambda command: type(command).__name__)
def test_an_interrupt_at_any_line_leaves_no_read_transaction(still: LocalEngine, command):
    still.execute(DefineStateStore(name="s", named_keys=[NamedKey("g")]))
    still.execute(PutRow(store="s", key=b"k", named={"g": 1}))
    expected = _contents(still.execute(command))
    line = 0
    while True:
        line += 1
        interrupted = Caller(lambda: still.execute(command), ("/engine/reader.py", line)).end().interrupted
        gc.collect()  # the caller's traceback, which ends with the handling of the interrupt
        assert all(not reader.connection.in_transaction for reader in still._readers._idle)
        still.execute(PutRow(store="s", key=b"k", named={"g": 1}))
        busy, *_ = still._writer._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert not busy
        assert _contents(still.execute(command)) == expected
        if not interrupted:
            break
    assert line > 3


def _contents(result: Any) -> Any:
    """Leave out positions, which the puts in between move."""
    rows = result if isinstance(result, list) else getattr(result, "rows", [result])
    return [(row.key, row.payload, row.named) if isinstance(row, StoreRow) else row for row in rows]
