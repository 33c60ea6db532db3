"""Names for completion: read without the engine, never loud, and never creating anything."""

import subprocess
import sys

import pytest

from dex.engine.client import connect
from dex.engine.names import list_names


@pytest.mark.spec("X-06")
def test_live_names_are_listed_in_order(client, data_dir):
    client.wcl("DEFINE FEED f.b; DEFINE FEED f.a; DEFINE STATESTORE eu:x KEYS k".replace("eu:x", '"eu:x"'))
    client.wcl("DEFINE STATESTORE gone; DROP STATESTORE gone; DEFINE STATESTORE a")
    assert list_names(str(data_dir), "store") == ["a", "eu:x"]
    assert list_names(str(data_dir), "feed") == ["f.a", "f.b"]


@pytest.mark.spec("X-06")
def test_no_file_is_no_names_and_nothing_is_created(data_dir):
    """Case 17."""
    assert list_names(str(data_dir), "store") == []
    assert not data_dir.exists()
    data_dir.mkdir()
    assert list_names(str(data_dir), "store") == []
    assert list(data_dir.iterdir()) == []


@pytest.mark.spec("X-06")
@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_no_names_and_stays_as_it_is(data_dir, content):
    data_dir.mkdir()
    (data_dir / "dex.db").write_bytes(content)
    assert list_names(str(data_dir), "store") == []
    assert (data_dir / "dex.db").read_bytes() == content


@pytest.mark.spec("X-06")
def test_names_are_read_beside_an_open_transaction(data_dir, client):
    import sqlite3

    client.wcl("DEFINE STATESTORE a")
    other = sqlite3.connect(data_dir / "dex.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert list_names(str(data_dir), "store") == ["a"]
    other.close()


@pytest.mark.spec("X-06")
def test_reading_names_loads_neither_the_engine_nor_the_language(data_dir):
    with connect(data_dir) as client:
        client.wcl("DEFINE STATESTORE a")
    code = (
        "import sys; from dex.engine.names import list_names; print(list_names(sys.argv[1], 'store'));"
        "print(sorted({'lark', 'msgspec', 'sqlite_utils', 'dex.engine.local'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(data_dir)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['a']", "[]"]
