"""Completion as a function from words to candidates, and the generated files."""

from pathlib import Path

import pytest

from dex.cli.completion import tree
from dex.cli.completion.answer import candidates
from dex.cli.completion.generate import options_of
from dex.cli.completion.generate import tree as generate
from dex.cli.completion.install import install
from dex.cli.completion.scripts import FILES, script
from dex.cli.completion.words import split_line
from dex.cli.globals import VERSION
from dex.engine.local import LocalEngine
from dex.wcl.commands import DefineFeed, DefineStateStore, DropStateStore, NamedKey

COMPLETIONS = Path(__file__).parents[2] / "completions"


@pytest.mark.spec("X-06")
def test_the_generated_tree_is_current() -> None:
    """The tree that is checked in is what the commands give; else run dex.cli.completion.generate."""
    assert generate() == (tree.GROUPS, tree.LEAVES, tree.GLOBAL)
    assert options_of([VERSION]) == tree.ROOT


@pytest.mark.spec("X-06")
@pytest.mark.parametrize("shell", FILES)
def test_the_scripts_in_completions_are_current(shell: str) -> None:
    """The scripts that are checked in are those that `dex completion` prints."""
    assert (COMPLETIONS / FILES[shell]).read_text() == script(shell)


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A target with two stores, a feed and a dropped store, and a file with two contexts."""
    data = tmp_path / "data"
    engine = LocalEngine(data)
    for name in ("eu:orders", "eu:users", "gone"):
        keys = [NamedKey("zone"), NamedKey("badge", True)] if name == "eu:orders" else [NamedKey("other")]
        engine.execute(DefineStateStore(name=name, named_keys=keys))
    engine.execute(DropStateStore(name="gone"))
    engine.execute(DefineFeed(name="events"))
    engine.close()
    config = tmp_path / "config.yaml"
    config.write_text(f"contexts:\n  here: {{data-dir: {data}}}\n  there: {{data-dir: /nowhere}}\n")
    monkeypatch.setenv("DEX_DATA_DIR", str(data))
    monkeypatch.setenv("DEX_CONFIG", str(config))
    return tmp_path


@pytest.mark.spec("X-06")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("st", ["store"]),
        ("store get", ["get", "get-by"]),
        ("store get ", ["eu:orders", "eu:users"]),
        ("store get eu:o", ["eu:orders"]),
        ("-o json store get eu:o", ["eu:orders"]),
        ("store get --raw eu:o", ["eu:orders"]),
        ("store get eu:orders ", []),
        ("store get --ra", ["--raw"]),
        ("store get -- --ra", []),
        ("store define new --from-feed ", ["events"]),
        ("store get-by eu:orders ", ["zone", "badge"]),
        ("store get-by eu:orders b", ["badge"]),
        ("store get-by eu:orders badge ", []),
        ("store put eu:orders k --named ", ["zone=", "badge="]),
        ("store put eu:orders k --named=z", ["--named=zone="]),
        ("store import eu:orders f.csv --named b", ["badge="]),
        ("store put eu:users k --named ", ["other="]),
        ("store put gone k --named ", []),
        ("store put --named ", []),
        ("feed append events k --metadata ", []),
        ("feed tail ", ["events"]),
        ("context use ", ["here", "there"]),
        ("--context t", ["there"]),
        ("--context there store get ", []),
        ("--data-dir /nowhere store get ", []),
        ("cluster drain ", []),
        ("--endpoint http://127.0.0.1:9 cluster drain ", []),
        ("-o ", ["table", "json", "ndjson", "yaml", "csv"]),
        ("--output=nd", ["--output=ndjson"]),
        ("--col", ["--color"]),
        ("--vers", ["--version"]),
        ("store --vers", []),
        ("completion z", ["zsh"]),
        ("batch a b ", [":file"]),
        ("wcl --file sc", [":file"]),
        ("--config=", [":file"]),
        ("nonsense ", []),
        ("store nonsense x", []),
    ],
)
def test_candidates(environ: Path, monkeypatch: pytest.MonkeyPatch, line: str, found: list[str]) -> None:
    """Commands, options, choices, live names and paths, each where it may stand."""
    if line.startswith("--context there"):
        monkeypatch.delenv("DEX_DATA_DIR")
    assert [name for name, _ in candidates(split_line(line))] == found


@pytest.mark.spec("X-06")
def test_completion_never_creates_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for names of a target that is not there gives none and leaves nothing (case 17)."""
    monkeypatch.setenv("DEX_DATA_DIR", str(tmp_path / "data"))
    assert candidates(["store", "get", ""]) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("X-06")
def test_a_broken_configuration_gives_no_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error while completing is no candidate and no message."""
    (tmp_path / "config.yaml").write_text("outpt: json\n")
    monkeypatch.setenv("DEX_CONFIG", str(tmp_path / "config.yaml"))
    assert candidates(["store", "get", ""]) == []


@pytest.mark.spec("X-06")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", [""]),
        ("a b", ["a", "b"]),
        ("a  b ", ["a", "b", ""]),
        (r"a my\ file", ["a", "my file"]),
        ("a 'x y", ["a", "x y"]),
        ('a "x\\"y" ', ["a", 'x"y', ""]),
        ("a '' b", ["a", "", "b"]),
        ("a eu:or", ["a", "eu:or"]),
    ],
)
def test_a_line_is_cut_as_a_shell_would(line: str, words: list[str]) -> None:
    """Quotes and backslashes are read, also where they are still open."""
    assert split_line(line) == words


@pytest.mark.spec("X-06")
@pytest.mark.parametrize("shell", FILES)
def test_installing_twice_changes_nothing_more(tmp_path: Path, shell: str) -> None:
    """The start-up file keeps what it had and gets one line, once."""
    environ = {"HOME": str(tmp_path)}
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'")
    first = install(shell, environ)
    before = {file: file.read_text() for file in first}
    assert before[first[0]] == script(shell)
    assert install(shell, environ) == first[:1]
    assert {file: file.read_text() for file in first} == before
    assert (tmp_path / ".bashrc").read_text().startswith("alias ll='ls -l'")
