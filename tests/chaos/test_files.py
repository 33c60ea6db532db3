"""Files that are damaged, foreign, newer or out of reach: one clear refusal, and never a write into them."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from dex.engine.client import connect
from dex.engine.sqlite.connection import SCHEMA_VERSION
from dex.wcl.commands import PutRow
from dex.wcl.errors import Refused

_NOBODY = 65534


def _fill(data_dir: Path, rows: int = 300) -> Path:
    """A data directory with one store, all of it in the main file."""
    with connect(data_dir) as client:
        client.wcl("DEFINE STATESTORE s KEYS k")
        client.engine.execute_many(
            [PutRow(store="s", key=b"%04d" % i, payload=b"x" * 200, named={"k": i}) for i in range(rows)]
        )
    path = data_dir / "dex.db"
    assert not path.with_name("dex.db-wal").exists()
    return path


def _every_door(data_dir: Path) -> list[Refused]:
    """Ask for a read, a look-up, a list, a page and a write; each must be refused in one line."""
    errors = []
    asks = (
        lambda client: client.wcl("SHOW STATESTORES"),
        lambda client: client.commands([{"command": "get_row", "store": "s", "key": "0000"}]),
        lambda client: client.commands([{"command": "put_row", "store": "s", "key": "0000"}]),
        lambda client: client.commands([{"command": "define_state_store", "name": "t"}]),
    )
    for ask in asks:
        with connect(data_dir, timeout=1) as client:
            with pytest.raises(Refused) as caught:
                ask(client)
            assert caught.value.remedy
            assert "\n" not in str(caught.value)
            errors.append(caught.value)
    return errors


@pytest.mark.spec("S-17")
@pytest.mark.parametrize(
    "content",
    [b"this is a letter to a friend\n" * 200, os.urandom(8192), b"SQLite format 3\0" + b"\xff" * 8000, b"xy"],
    ids=["text", "random", "header only", "two bytes"],
)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(data_dir, content):
    data_dir.mkdir()
    (data_dir / "dex.db").write_bytes(content)
    for error in _every_door(data_dir):
        assert error.reason == "corrupt"
        assert "dex.db is damaged or is not a dex database" in str(error)
    assert (data_dir / "dex.db").read_bytes() == content


@pytest.mark.spec("S-17")
@pytest.mark.parametrize("kept", [100, 3000, 4096, 4096 * 4, 4096 * 9 + 77])
def test_a_truncated_database_is_refused(data_dir, kept):
    path = _fill(data_dir)
    content = path.read_bytes()[:kept]
    path.write_bytes(content)
    for error in _every_door(data_dir):
        assert error.reason == "corrupt"


@pytest.mark.spec("S-17", "S-10")
def test_a_damaged_page_is_told_by_whoever_reads_it(data_dir):
    """The definitions are whole, so the damage shows in the first look-up that needs the page."""
    path = _fill(data_dir)
    content = bytearray(path.read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        roots = connection.execute("SELECT rootpage FROM sqlite_master WHERE tbl_name LIKE 'rows_%'").fetchall()
    for (root,) in roots:
        content[(root - 1) * 4096 : root * 4096] = b"\xaa" * 4096
    path.write_bytes(content)
    asks = (
        {"command": "get_row", "store": "s", "key": "0000"},
        {"command": "get_row", "store": "s", "key": "0000", "strict": True},
        {"command": "get_by", "store": "s", "named_key": "k", "value": 7},
        {"command": "page_rows", "store": "s"},
        {"command": "describe_state_store", "name": "s"},
        {"command": "put_row", "store": "s", "key": "0000"},
        {"command": "delete_row", "store": "s", "key": "0000"},
    )
    with connect(data_dir) as client:
        for ask in asks:
            with pytest.raises(Refused, match="damaged") as caught:
                client.commands([ask])
            assert caught.value.reason == "corrupt"
        assert [store.name for store in client.state_stores.list()] == ["s"]


@pytest.mark.spec("S-17")
def test_a_database_of_a_newer_version_is_refused_and_not_touched(data_dir):
    path = _fill(data_dir)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    for error in _every_door(data_dir):
        assert f"schema {SCHEMA_VERSION + 1}" in str(error)
        assert "upgrade dex" in error.remedy
    assert path.read_bytes() == before


@pytest.mark.spec("S-17")
@pytest.mark.parametrize("user_version", [0, 1, SCHEMA_VERSION, SCHEMA_VERSION + 7])
@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
def test_another_programs_database_is_refused_and_never_written(data_dir, user_version, journal_mode):
    data_dir.mkdir()
    path = data_dir / "dex.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        connection.execute("CREATE TABLE stores (mine)")
        connection.execute(f"PRAGMA user_version = {user_version}")
    before = path.read_bytes()
    for error in _every_door(data_dir):
        assert error.reason == "corrupt"
        assert "tables of another program" in str(error)
    assert path.read_bytes() == before


@pytest.mark.spec("S-17")
@pytest.mark.parametrize("below", [False, True])
def test_a_data_directory_that_is_a_file_is_refused(tmp_path, below):
    file = tmp_path / "file"
    file.write_text("mine")
    for error in _every_door(file / "data" if below else file):
        assert "cannot use" in str(error)
        assert "--data-dir" in error.remedy
    assert file.read_text() == "mine"


@pytest.mark.spec("S-17")
def test_a_database_that_is_a_folder_is_refused(tmp_path):
    (tmp_path / "dex.db").mkdir()
    for error in _every_door(tmp_path):
        assert "dex.db cannot be opened" in str(error)


_AS_SOMEBODY = """
import os, sys
from dex.engine.client import connect
from dex.wcl.errors import DexError
with connect(sys.argv[3]) as client:  # imports all that is imported late, which this user may not read
    client.wcl(sys.argv[2])
if os.getuid() == 0:
    os.setgroups([])
    os.setgid({nobody})
    os.setuid({nobody})
try:
    with connect(sys.argv[1], timeout=1) as client:
        client.wcl(sys.argv[2])
except DexError as error:
    print(error.kind, error)
"""


def _as_somebody(data_dir: Path, statement: str) -> str:
    """Run a statement in a process without root's rights."""
    code = _AS_SOMEBODY.format(nobody=_NOBODY)
    command = [sys.executable, "-c", code, str(data_dir), statement, str(data_dir.parent / "first")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def reachable(data_dir: Path) -> Path:
    """The data directory, where other users can get to it."""
    data_dir.parent.chmod(0o755)
    return data_dir


@pytest.mark.spec("S-17")
@pytest.mark.parametrize(
    ("locked", "statement"),
    [
        *product(("file", "empty folder", "parent", "folder with file"), ("DEFINE STATESTORE t",)),
        ("folder with file", "SHOW STATESTORES"),  # where there is no file, a read makes none and finds nothing
    ],
)
def test_what_cannot_be_written_is_refused_with_what_to_check(reachable, statement, locked):
    if locked == "empty folder":
        reachable.mkdir(mode=0o555)
    elif locked == "parent":
        reachable.parent.chmod(0o555)
    else:
        path = _fill(reachable, rows=1)
        reachable.chmod(0o777 if locked == "file" else 0o555)
        path.chmod(0o444 if locked == "file" else 0o666)
    said = _as_somebody(reachable, statement)
    assert said.startswith("refused ")
    assert "check the" in said
    assert len(said.splitlines()) == 1


@pytest.mark.spec("S-17")
def test_the_files_are_for_their_owner_only(data_dir):
    with connect(data_dir) as client:
        client.wcl("DEFINE STATESTORE s")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in data_dir.iterdir()}
    assert modes == {"dex.db": 0o600, "dex.db-wal": 0o600, "dex.db-shm": 0o600}
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
