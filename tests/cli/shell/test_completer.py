"""What Tab offers, as a function of text, cursor and names."""

import os
from pathlib import Path

import pytest
from hypothesis import given

from dex.cli.shell.completer import offers
from dex.engine.local import LocalEngine
from dex.wcl.commands import DefineStateStore, NamedKey
from tests.wcl.strategies import any_text


class Known:
    """A few names."""

    def stores(self) -> list[str]:
        return ["accounts.employees", "accounts.tagged", "eu orders"]

    def feeds(self) -> list[str]:
        return ["accounts.events"]

    def keys(self) -> list[str]:
        return ["department", "passport"]


def offered(text: str) -> list[str]:
    """What the text is after each offer at its end."""
    return [text[: offer.start] + offer.text for offer in offers(text, len(text), Known(), [])]


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("SHOW STA", ["SHOW STATESTORES"]),
        (
            "SHOW STATESTORES; DESCRIBE STATESTORE acc",
            [f"SHOW STATESTORES; DESCRIBE STATESTORE accounts.{name}" for name in ("employees", "tagged")],
        ),
        ("DESCRIBE STATESTORE eu", ['DESCRIBE STATESTORE "eu orders"']),
        ("DEFINE STATESTORE x KEYS dep", ["DEFINE STATESTORE x KEYS department"]),
        ("-- DESCRIBE STATESTORE acc", []),
        ("DEFINE STATESTORE x FROM FEED accounts.events KEYS p = METADATA 'acc", []),
        ("sto", ["store"]),
        ("st", ["store"]),
        ("store i", ["store iterate", "store import"]),
        ("dex store i", ["dex store iterate", "dex store import"]),
        ("store put a.b k --na", ["store put a.b k --named"]),
        ("store list -o nd", ["store list -o ndjson"]),
        ("ex", ["exit"]),
        ("help sto", ["help store"]),
        ("help store it", ["help store iterate"]),
        ("\\t", ["\\timing"]),
        ("\\mode v", ["\\mode vi"]),
        ("\\format n", ["\\format ndjson"]),
        ("\\d accounts.t", ["\\d accounts.tagged"]),
        ("\\d eu", ["\\d 'eu orders'"]),
        ("\\df ", ["\\df accounts.events"]),
        ('{"command": "show_st', ['{"command": "show_state_stores']),
        ('{"command": "get_row", "store": "accounts.e', ['{"command": "get_row", "store": "accounts.employees']),
        ('{"command": "page_records", "feed": "', ['{"command": "page_records", "feed": "accounts.events']),
        ('{"key": "acc', []),
    ],
)
def test_what_fits_is_offered(text: str, results: list[str]) -> None:
    assert offered(text) == results


@pytest.mark.spec("P-01")
def test_an_empty_line_offers_statements_and_commands() -> None:
    results = offered("")
    assert {"SHOW", "DEFINE", "store", "feed", "help", "exit"} <= set(results)


@pytest.mark.spec("P-01")
def test_a_command_line_may_name_another_target(tmp_path: Path) -> None:
    """Names of stores come from the target that the shell was opened on, and asking does not create it."""
    assert offers("store get acc", 13, Known(), [f"--data-dir={tmp_path / 'none'}"]) == []
    assert not (tmp_path / "none").exists()


@pytest.mark.spec("P-01", "X-06")
def test_named_keys_are_those_of_the_store_on_the_line(tmp_path: Path) -> None:
    """Neither keys of other stores nor those of the shell's own target, if the line names another."""
    engine = LocalEngine(tmp_path)
    engine.execute(DefineStateStore(name="a.b", named_keys=[NamedKey("department"), NamedKey("my key", True)]))
    engine.execute(DefineStateStore(name="a.c", named_keys=[NamedKey("other")]))
    engine.close()
    options = [f"--data-dir={tmp_path}"]
    for text, found in (
        ("store put a.b k --named dep", ["department="]),
        ("store put a.b k --named ", ["department=", "'my key='"]),
        ("store get-by a.c ", ["other"]),
        ("store import a.b f.csv --named d", ["department="]),
        ("store put none k --named ", []),
    ):
        assert [offer.text for offer in offers(text, len(text), Known(), options)] == found


@pytest.mark.spec("P-01")
def test_paths_are_offered_whole_and_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with a space completes to a line that runs; hidden files are offered after a dot."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("my script.wcl", ".hidden", "plain"):
        Path(name).touch()
    Path("folder").mkdir()
    assert offered(r"\i ") == [r"\i folder/", r"\i 'my script.wcl'", r"\i plain"]
    assert offered(r"\i .h") == [r"\i .hidden"]
    assert offered(r"\i 'my s") == [r"\i 'my script.wcl'"]
    assert offered(r"\i ~/my") == [r"\i ~/'my script.wcl'"]
    assert offered("batch pl") == ["batch plain"]
    assert offered(rf"\o {tmp_path}{os.sep}pl") == [rf"\o {tmp_path}{os.sep}plain"]


@pytest.mark.spec("P-01")
@given(any_text)
def test_completion_never_fails(text: str) -> None:
    """Whatever was typed, every offer replaces what ends at the cursor."""
    assert all(0 <= offer.start <= len(text) for offer in offers(text, len(text), Known(), []))
