"""A full disk: told with what to do, nothing half done, and work goes on once there is space again."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dex.engine.client import Client, connect
from dex.engine.statestore import StateStore
from dex.wcl.commands import AppendRecords, DefineFeed, FeedRecord, PutRow
from dex.wcl.errors import Unavailable

KIB = 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 4 MiB."""
    if os.getuid() != 0:
        pytest.skip("mounting a small disk needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"mounting a small disk is not allowed here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


class Ballast:
    """A file that takes all space that is left."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "ballast"

    def fill(self) -> None:
        with self._path.open("wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4 * KIB):
                    pass
            except OSError:
                pass

    def remove(self) -> None:
        self._path.unlink()


@pytest.fixture
def client(disk: Path) -> Iterator[Client]:
    with connect(disk / "data") as client:
        yield client


@pytest.fixture
def store(client: Client) -> StateStore:
    store = client.state_stores.define(StateStore.named("s").add_key("u", unique=True))
    store.put("old", "before", {"u": "old"})
    return store


def _rows_and_journal(disk: Path) -> tuple[set[int], set[int]]:
    with closing(sqlite3.connect(disk / "data" / "dex.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = {seq for (seq,) in connection.execute("SELECT id FROM rows_1_0")}
        journaled = {seq for (seq,) in connection.execute("SELECT seq FROM journal")}
    return rows, journaled


def _full(error: BaseException) -> None:
    assert isinstance(error, Unavailable)
    assert "could not be written" in str(error)
    assert "free space on the disk and try again; nothing was changed" in str(error)


@pytest.mark.spec("S-17", "S-01", "S-07")
def test_a_put_on_a_full_disk_changes_nothing_and_works_once_there_is_space(disk, store):
    ballast = Ballast(disk)
    ballast.fill()
    big = b"x" * 200 * KIB
    for _ in range(2):
        with pytest.raises(Unavailable) as caught:
            store.put("new", big, {"u": "new"}, mutation_id="m")
        _full(caught.value)
    with pytest.raises(Unavailable):
        store.put("old", big, {"u": "old"})
    assert store.get("new") is None
    assert store.get("old").payload == b"before"
    assert store.get_by("u", "new").rows == []
    ballast.remove()
    replaced = store.put("old", "after", {"u": "old"})
    assert (replaced.seq, replaced.replaced) == (3, True)
    first = store.put("new", big, {"u": "new"}, mutation_id="m")
    assert (first.seq, first.replayed, first.replaced) == (4, False, False)
    rows, journaled = _rows_and_journal(disk)
    assert (rows, journaled) == ({2, 4}, {1, 2, 3, 4})


@pytest.mark.spec("S-01", "S-17")
def test_a_put_that_failed_at_its_commit_leaves_no_trace_in_the_next_answer(disk, store):
    """Small rows fit the cache, so that the disk is found full only when the transaction ends."""
    ballast = Ballast(disk)
    ballast.fill()
    failed = 0
    for number in range(400):
        try:
            store.put(f"{number}", b"x" * 2 * KIB)
        except Unavailable as error:
            _full(error)
            failed += 1
    assert failed
    ballast.remove()
    assert store.put("old", "after").replaced


@pytest.mark.spec("S-17")
@pytest.mark.parametrize("count", [10, 400])
def test_a_batch_on_a_full_disk_is_refused_as_a_whole(disk, client, store, count):
    ballast = Ballast(disk)
    ballast.fill()
    batch = [PutRow(store="s", key=b"%d" % i, payload=b"x" * 40 * KIB) for i in range(count)]
    results = client.engine.execute_many(batch)
    for result in results:
        _full(result)
    assert [row.key for row in store.iterate()] == [b"old"]
    ballast.remove()
    assert [result.seq for result in client.engine.execute_many(batch[:10])] == list(range(3, 13))


@pytest.mark.spec("F-01", "S-17")
def test_an_append_on_a_full_disk_is_all_or_nothing(disk, client, store):
    client.execute(DefineFeed(name="f"))
    ballast = Ballast(disk)
    ballast.fill()
    append = AppendRecords(feed="f", records=[FeedRecord(key=b"k", payload=b"x" * 100 * KIB)] * 10)
    with pytest.raises(Unavailable) as caught:
        client.execute(append)
    _full(caught.value)
    ballast.remove()
    assert client.execute(append).first_seq == 1


@pytest.mark.spec("S-17")
def test_every_acknowledged_row_is_there_when_the_disk_fills_up_by_itself(disk, client, store):
    acknowledged = {b"old"}
    refused = None
    for number in range(1000):
        key = b"%d" % number
        try:
            store.put(key, b"x" * 20 * KIB)
        except Unavailable as error:
            refused = error
            break
        acknowledged.add(key)
    _full(refused)
    assert {row.key for row in store.iterate()} == acknowledged
    client.close()
    rows, journaled = _rows_and_journal(disk)
    assert rows <= journaled
    assert len(rows) == len(acknowledged)


@pytest.mark.spec("S-17")
def test_a_file_that_cannot_be_made_for_lack_of_space_is_unavailable_and_made_later(disk):
    ballast = Ballast(disk)
    ballast.fill()
    with connect(disk / "new") as client:
        for _ in range(2):
            with pytest.raises(Unavailable, match="free space"):
                client.wcl("DEFINE STATESTORE s")
        ballast.remove()
        client.wcl("DEFINE STATESTORE s")
        assert client.state_store("s").put("k", "v").seq == 2
