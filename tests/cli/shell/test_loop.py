"""The loop over a made-up keyboard: what inputs do, and that nothing ends the shell but leaving."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from dex.cli.session import Session
from dex.cli.shell.loop import Shell
from tests.cli.shell.conftest import DEFINE

Type = Callable[..., int]


@pytest.fixture
def typed(environ: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch) -> Type:
    """Run a shell on lines, then leave it by Ctrl-D."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DEX_OUTPUT", "DEX_TIMEOUT", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home)

    def run(*lines: str, flags: dict[str, object] | None = None) -> int:
        session = Session({"output": "json", "quiet": True, **(flags or {})})
        try:
            with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
                keyboard.send_text("".join(f"{line}\r" for line in lines) + "\x04")
                return Shell(session).run()
        finally:
            session.close()

    return run


@pytest.mark.spec("P-02")
def test_wcl_json_and_commands_work_side_by_side(typed: Type, capsys: pytest.CaptureFixture[str]) -> None:
    """All three reach one engine, and each writes what `dex` writes."""
    assert (
        typed(
            "DEFINE STATESTORE a.b KEYS x;",
            "store put a.b k v --named x=1",
            '{"command": "get_row", "store": "a.b", "key": "k"}',
        )
        == 0
    )
    defined, put, row = capsys.readouterr().out.splitlines()
    assert '"status":"created"' in defined
    assert '"seq":2' in put
    assert '"named":{"x":"1"}' in row


@pytest.mark.spec("P-01", "P-02")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("SHOW STATESTOR;", "did you mean STATESTORES?"),
        ("DROPSTATESTORE a.b;", "DROPSTATESTORE"),
        ("PUT a.b 1", "store put"),
        ("stroe list", "did you mean store?"),
        ("store lst", "did you mean list?"),
        ("store get a.b", "missing argument"),
        ("store get no.such k", "no.such"),
        ("store put a.b 'k", "a quote is not closed"),
        ('{"command": "show_fedes"}', "did you mean show_feeds?"),
        ('{"command": }', "not JSON"),
        (r"\tming", r"did you mean \timing?"),
        (r"\mode vim", "did you mean vi?"),
        (r"\timing on off", "too many words"),
        (r"\i", r"\i FILE"),
        (r"\i none.wcl", "none.wcl"),
        (r"\o none/such", "none/such"),
        ("shell", "already"),
        ("dex", "already"),
        ("-o jsno store list", "did you mean json?"),
    ],
)
def test_an_error_is_one_line_and_the_next_command_works(
    typed: Type, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    assert typed(line, "\x03SHOW FEEDS;", flags={"output": "yaml"}) == 0
    out, err = capsys.readouterr()
    assert out == "---\ncommand: show_feeds\nstatus: ok\nresult: []\n"
    assert err.startswith("error: ")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.spec("P-01")
def test_a_traceback_is_for_those_who_ask(
    typed: Type, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even a bug in a command does not end the shell; `-vv` shows where it is."""
    monkeypatch.setattr("dex.cli.commands.store.list.run", None)
    assert typed("store list", flags={"output": "table"}) == 0
    assert "Traceback" not in capsys.readouterr().err
    assert typed("store list", flags={"output": "table", "verbose": 2}) == 0
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.spec("P-01")
@pytest.mark.parametrize("word", ["exit", "quit", "exit;", r"\q"])
def test_words_that_leave(typed: Type, capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert typed(word, "SHOW FEEDS;") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.spec("P-01", "X-07")
def test_yes_given_to_the_shell_agrees_to_everything(typed: Type, capsys: pytest.CaptureFixture[str]) -> None:
    typed("DEFINE STATESTORE a.b;", "DROP STATESTORE a.b;")
    assert "use --yes" in capsys.readouterr().err
    typed("DROP STATESTORE a.b;", flags={"yes": True})
    assert '"status":"dropped"' in capsys.readouterr().out


@pytest.mark.spec("P-02")
def test_options_of_one_command_are_its_own(typed: Type, capsys: pytest.CaptureFixture[str], home: Path) -> None:
    """A command may go to another target in another format; the shell stays where it is."""
    typed("DEFINE FEED a.b;", f"feed list --data-dir {home / 'other'} -o yaml", "feed list")
    assert capsys.readouterr().out.splitlines()[1:] == ["--- []", '[{"name":"a.b","stage":"active","stores":[]}]']


@pytest.mark.spec("P-01")
def test_results_go_to_a_file_and_back(typed: Type, capsys: pytest.CaptureFixture[str], home: Path) -> None:
    """A new file each time, without what was there; the error of a command is still on the screen."""
    (home / "my out").write_text("old")
    typed(r"\o 'my out'", "SHOW FEEDS;", "store get no.such k", r"\o", "feed list")
    out, err = capsys.readouterr()
    assert (home / "my out").read_text() == '{"command":"show_feeds","status":"ok","result":[]}\n'
    assert out == "[]\n"
    assert "no.such" in err


@pytest.mark.spec("P-01")
def test_a_script_runs_as_batch_does(typed: Type, capsys: pytest.CaptureFixture[str], home: Path) -> None:
    """Up to the statement that fails, which is named with file, line and column."""
    (home / "a.wcl").write_text("-- it's a note\nDEFINE FEED a.b;\n\nDROP STATESTOR x;\n")
    typed(r"\i a.wcl", flags={"output": "yaml"})
    assert "a.wcl:4:6" in capsys.readouterr().err
    (home / "a.wcl").write_text("DEFINE FEED a.b; SHOW FEEDS")
    typed(r"\i a.wcl;")
    assert '"file":"a.wcl","line":1,"column":18,"status":"ok"' in capsys.readouterr().out


@pytest.mark.spec("P-01", "P-02")
def test_a_file_of_other_lines_runs_as_if_they_were_typed(
    typed: Type, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    """Commands, statements, JSON and backslash commands, up to the line that fails; files in files too."""
    (home / "inner").write_text("feed append a.b k v\n\\i inner\nfeed list\n")
    (home / "outer").write_text(
        'DEFINE FEED\n  a.b;\n{"command":\n  "show_feeds"}\n\\format csv\n\\i ~/inner\nfeed list\n'
    )
    typed(r"\i outer")
    out, err = capsys.readouterr()
    defined, shown, *appended = out.splitlines()
    assert ('"status":"created"' in defined, shown[:13], appended[1:]) == (True, '[{"name":"a.b', ["1,1,false"])
    first, *stops = (json.loads(line) for line in err.splitlines())
    assert first["error"]["message"] == "inner includes itself"
    assert [(one["warning"]["file"], one["warning"]["line"]) for one in stops] == [(f"{home}/inner", 2), ("outer", 6)]


@pytest.mark.spec("P-01")
def test_the_output_format_can_be_changed(typed: Type, capsys: pytest.CaptureFixture[str]) -> None:
    typed(r"\format csv", "feed list", r"\format jsno", r"\format json", "feed list")
    assert capsys.readouterr().out == "[]\n"


@pytest.mark.spec("P-01")
def test_timing_is_no_result(typed: Type, capsys: pytest.CaptureFixture[str]) -> None:
    typed(r"\timing", "feed list", r"\timing", "feed list", flags={"quiet": False})
    out, err = capsys.readouterr()
    assert out == "[]\n[]\n"
    assert [line for line in err.splitlines() if line.endswith(" s")] != []
    assert err.count("timing is") == 2


@pytest.mark.spec("P-01")
def test_stores_and_feeds_at_a_glance(typed: Type, capsys: pytest.CaptureFixture[str]) -> None:
    typed("DEFINE STATESTORE a.b;", "DEFINE FEED a.f;", r"\d", r"\d a.b;", r"\df", r"\df a.f")
    shown = capsys.readouterr().out.splitlines()[2:]
    assert [('"rows":0' in line, '"records":0' in line) for line in shown] == [
        (False, False),
        (True, False),
        (False, False),
        (False, True),
    ]


@pytest.mark.spec("P-01", "P-02")
@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("help", r"\timing"),
        (r"\?", "Ctrl-R searches"),
        ("?", "DEFINE STATESTORE"),
        ("help store put", "--mutation-id"),
        ("help nothing", r"\timing"),
        ("store --help", "get-by"),
    ],
)
def test_help_is_near(typed: Type, capsys: pytest.CaptureFixture[str], line: str, part: str) -> None:
    assert typed(line) == 0
    assert part in capsys.readouterr().out


@pytest.mark.spec("P-01")
def test_opening_and_looking_round_makes_no_database(typed: Type, home: Path) -> None:
    typed("help", "DESCRIBE STATESTORE acc\t\x03")
    assert not (home / "data").exists()


@pytest.mark.spec("P-02")
def test_the_database_is_opened_once(
    typed: Type, monkeypatch: pytest.MonkeyPatch, define: Callable[[str], None]
) -> None:
    """Ten commands read through the connection that the first of them opened."""
    define(DEFINE)
    opened: list[object] = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: opened.append(args) or connect(*args, **kwargs))
    typed(*["store list"] * 10)
    assert len(opened) <= 2


@pytest.mark.spec("P-01")
def test_the_time_limit_is_for_each_command(typed: Type, capsys: pytest.CaptureFixture[str]) -> None:
    """One that takes too long ends alone; typing takes as long as it takes."""
    typed("DEFINE FEED a.b;", "feed tail a.b", "feed list", flags={"timeout": "300ms"})
    out, err = capsys.readouterr()
    assert "timed out after 300ms" in err
    assert out.splitlines()[-1].startswith('[{"name":"a.b"')
