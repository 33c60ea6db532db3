"""History in a file."""

import stat
from pathlib import Path

import pytest
from prompt_toolkit.history import InMemoryHistory

from dex.cli.shell.history import open_history, redacted


def entries(environ: dict[str, str]) -> list[str]:
    """The entries that a new shell finds, the last one first."""
    return list(open_history(environ, pytest.fail).load_history_strings())


@pytest.mark.spec("P-01")
def test_an_entry_of_two_lines_stays_one(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    open_history(environ, pytest.fail).append_string("SHOW\nSTATESTORES;")
    open_history(environ, pytest.fail).append_string("store list")
    assert entries(environ) == ["store list", "SHOW\nSTATESTORES;"]


@pytest.mark.spec("P-01")
def test_the_file_is_its_owners_only(tmp_path: Path) -> None:
    open_history({"HOME": str(tmp_path)}, pytest.fail)
    path = tmp_path / ".local/state/dex/history"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.spec("P-01")
def test_xdg_state_home_comes_first(tmp_path: Path) -> None:
    open_history({"HOME": "/nonexistent", "XDG_STATE_HOME": str(tmp_path / "state")}, pytest.fail)
    assert (tmp_path / "state/dex/history").exists()


@pytest.mark.spec("P-01")
@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "/nonexistent"}, {"HOME": "/proc"}])
def test_without_a_home_that_can_be_written_history_is_off(environ: dict[str, str]) -> None:
    """It is said in one line, a missing home is not made, and the shell has a history of its own meanwhile."""
    notes: list[str] = []
    history = open_history(environ, notes.append)
    history.append_string("SHOW FEEDS;")
    assert isinstance(history, InMemoryHistory)
    assert len(notes) == 1
    assert notes[0].startswith("history is off: ")
    assert "XDG_STATE_HOME" in notes[0]
    assert not Path("/nonexistent").exists()


@pytest.mark.spec("P-01")
def test_a_file_that_goes_away_is_told_once(tmp_path: Path) -> None:
    notes: list[str] = []
    history = open_history({"HOME": str(tmp_path)}, notes.append)
    path = tmp_path / ".local/state/dex/history"
    path.unlink()
    path.mkdir()
    history.append_string("one")
    history.append_string("two")
    assert [note.partition(":")[0] for note in notes] == ["history is off"]
    assert history.get_strings() == ["one", "two"]


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("sync check --dsn postgres://ann:s3cr%40t@db/x", "sync check --dsn postgres://ann:***@db/x"),
        ("x 'postgres://db/x?user=ann&password=s3cret&a=1'", "x 'postgres://db/x?user=ann&password=***&a=1'"),
        ("store list --token abc", "store list --token ***"),
        ("store put a.b eu:ann ann@example.test", "store put a.b eu:ann ann@example.test"),
    ],
)
def test_secrets_are_not_kept(text: str, kept: str) -> None:
    assert redacted(text) == kept
