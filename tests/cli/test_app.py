"""The commands as a whole: help, examples, suggestions, and what starting one imports."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from dex.cli.app import COMMANDS, Table, load
from dex.cli.run import run_command


def leaves(table: Table = COMMANDS, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Give the path and the short help of every command."""
    for name, entry in table.items():
        if isinstance(entry, str):
            yield (*path, name), entry
        else:
            yield from leaves(entry[1], (*path, name))


LEAVES = list(leaves())


@pytest.mark.spec("X-08")
@pytest.mark.parametrize(("path", "short"), LEAVES, ids=[" ".join(path) for path, _ in LEAVES])
def test_every_command_has_help_with_an_example(
    capsys: pytest.CaptureFixture[str], path: tuple[str, ...], short: str
) -> None:
    """`--help` shows what the list of commands says, the arguments, and an example of this very command."""
    assert run_command([*path, "--help"]) == 0
    text = capsys.readouterr().out
    assert short in text
    examples = text.partition("Examples:")[2]
    assert f"dex {' '.join(path)}" in examples


@pytest.mark.spec("X-08")
@pytest.mark.parametrize("words", [[], ["store"], ["store", "put"]], ids=" ".join)
def test_help_is_found_where_people_look_for_it(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """`dex help …`, `-h` and `--help` are the same; help on nothing known has the nearest."""
    texts = set()
    for args in (["help", *words], [*words, "-h"], [*words, "--help"]):
        assert run_command(args) == 0
        texts.add(capsys.readouterr().out)
    assert len(texts) == 1
    assert run_command(["help", "sotre"]) == 2
    assert "did you mean store?" in capsys.readouterr().err


@pytest.mark.spec("X-08")
@pytest.mark.parametrize("path", [path for path, _ in LEAVES], ids=" ".join)
def test_every_example_can_be_parsed(path: tuple[str, ...]) -> None:
    """Options and arguments of the examples are those that the command has."""
    command = load(path)
    examples = list(_own_examples(path, str(command.epilog)))
    assert examples
    for words in examples:
        context = command.make_context("x", [], resilient_parsing=True)
        command.make_parser(context).parse_args(words)


def _own_examples(path: tuple[str, ...], examples: str) -> Iterator[list[str]]:
    """Give the arguments of each example that runs the command at `path`."""
    lexer = shlex.shlex(examples.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars="|>;()<")
    lexer.whitespace_split = True
    words: list[str] = []
    for token in [*lexer, ";"]:
        if token in (";", "|", ">", "<(", ")"):
            if words[: len(path) + 1] == ["dex", *path]:
                yield words[len(path) + 1 :]
            words = []
        else:
            words.append(token)


@pytest.mark.spec("X-08")
@pytest.mark.parametrize("path", [path for path, _ in LEAVES], ids=" ".join)
def test_no_argument_of_a_command_is_taken_for_an_option_of_another(path: tuple[str, ...]) -> None:
    """Values are kept by parameter, and no two of a command share a name: an argument TOKEN is no `--token`."""
    names = [parameter.name for parameter in load(path).params]
    assert len(names) == len(set(names))


@pytest.mark.spec("X-08", "X-03")
@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["stor"], "did you mean store?"),
        (["store", "gett"], "did you mean get?"),
        (["feed", "tial"], "did you mean tail?"),
        (["store", "page", "s", "--limt", "3"], "did you mean --limit?"),
        (["wcl", "--fiel", "x"], "did you mean --file?"),
        (["completion", "bsh"], "did you mean bash?"),
        (["-o", "jsn", "store", "list"], "did you mean json?"),
        (["xyzzy"], "see `dex --help`"),
        (["store"], "one of list, define"),
        (["store", "get", "s"], "missing argument 'KEY'"),
        (["store", "page", "s", "--limit", "many"], "'many' is not a valid int"),
    ],
)
def test_wrong_words_get_a_suggestion_and_exit_code_2(
    capfd: pytest.CaptureFixture[str], args: list[str], hint: str
) -> None:
    """One line that says what is near, or where the help is."""
    assert run_command(args) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert hint in err


@pytest.mark.spec("X-03")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["store", "page", "s", "--limit", "0"], "--limit is 0, and 1 to 10000 is allowed; write 1 or more"),
        (
            ["store", "page", "s", "--limit", "10001"],
            "--limit is 10001, and 1 to 10000 is allowed; write 10000 or less",
        ),
        (["store", "iterate", "s", "--limit", "-1"], "--limit is -1, and 1 to"),
        (["store", "get", "s", "k", "--wait-ms", "-1"], "--wait-ms is -1, and 0 to 600000 is allowed"),
        (["store", "get-by", "s", "k", "v", "--wait-ms", "600001"], "--wait-ms is 600001, and 0 to 600000"),
        (["feed", "page", "f", "--limit", "0"], "--limit is 0, and 1 to 10000 is allowed"),
        (["feed", "page", "f", "--after", "-1"], "--after is -1, and 0 to"),
        (["feed", "tail", "f", "--after", "-1"], "--after is -1, and 0 to"),
        (["feed", "tail", "f", "-n", "0"], "-n is 0, and 1 to"),
        (["flow", "search", "--limit", "1001"], "--limit is 1001, and 1 to 1000 is allowed"),
        (["flow", "messages", "x", "c", "--limit", "0"], "--limit is 0, and 1 to 1000 is allowed"),
        (["flow", "history", "x", "--limit", "0"], "--limit is 0, and 1 to 1000 is allowed"),
        (["flow", "history", "x", "--after", "-1"], "--after is -1, and 0 to"),
        (["flow", "watch", "x", "--after", "-1"], "--after is -1, and 0 to"),
        (["flow", "skip-timer", "x", "y", "--index", "-1"], "--index is -1, and 0 to"),
        (["flow", "invoke", "x", "y", "--retry", "-1"], "--retry is -1, and 0 to 1000 is allowed"),
        (["flow", "wait", "x", "--wait", "11m"], "--wait is 11m, and up to 10m is allowed"),
        (["flow", "wait-step", "x", "y", "--wait", "0"], "a duration of 0 is no time at all"),
        (["flow", "wait-attribute", "x", "y", "z", "--wait", "11m"], "--wait is 11m, and up to 10m is allowed"),
        (["subscriber", "list", "--limit", "0"], "--limit is 0, and 1 to"),
        (["sync", "backlog", "--limit", "0"], "--limit is 0, and 1 to 10000 is allowed"),
        (["sync", "drops", "--limit", "10001"], "--limit is 10001, and 1 to 10000 is allowed"),
        (["store", "list", "--timeout", "0"], "a duration of 0 is no time at all"),
        (["flow", "start", "x", "y", "--timeout", "0.1ms"], "a duration of 0.1ms is too short; 1ms is the shortest"),
    ],
)
def test_a_number_that_an_option_cannot_have_is_refused_before_anything_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], args: list[str], said: str
) -> None:
    """It is a matter of usage: whether there is such a store, feed or Flow plays no part."""
    monkeypatch.setenv("DEX_DATA_DIR", str(tmp_path / "data"))
    assert run_command(args) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [path for path, _ in LEAVES], ids=" ".join)
def test_the_list_of_commands_says_what_the_command_says(path: tuple[str, ...]) -> None:
    """The static table and the docstring of `run` agree."""
    module = import_module(load(path).callback.__module__)
    assert str(module.run.__doc__).splitlines()[0] == dict(LEAVES)[path]


HEAVY = ["rich", "yaml", "lark", "sqlite_utils", "prompt_toolkit", "httpx", "psycopg", "sqlite3", "msgspec", "typer"]


@pytest.mark.spec("X-06")
@pytest.mark.parametrize(
    ("args", "allowed"),
    [
        (["--version"], []),
        (["__complete", "bash", "dex store ge"], []),
        (["config", "show", "-o", "json"], ["typer", "msgspec"]),
        (["store", "list", "-o", "json"], ["typer", "msgspec", "sqlite3"]),
        (["store", "list", "-o", "json", "--limit"], ["typer", "msgspec"]),
    ],
    ids=["version", "completion", "config", "store list", "usage error"],
)
def test_a_command_imports_only_what_it_needs(tmp_path: object, args: list[str], allowed: list[str]) -> None:
    """The start of a command stays fast because heavy packages are not loaded."""
    program = (
        "import json, sys\nfrom dex.cli.main import answer\n"
        "answer(sys.argv[1:])\nsys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"
    )
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    for _ in range(2):  # the first run makes the database, which needs more
        done = subprocess.run([sys.executable, "-c", program, *args], env=environ, capture_output=True, check=True)
    loaded = json.loads(done.stderr.splitlines()[-1])
    assert [name for name in HEAVY if name in loaded and name not in allowed] == []
