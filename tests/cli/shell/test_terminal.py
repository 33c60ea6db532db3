"""The installed `dex` on a real terminal."""

import json
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dex.engine.local import LocalEngine
from dex.wcl.commands import PutRow
from tests.cli.shell.conftest import DEFINE, Open, leave
from tests.cli.shell.terminal import CTRL_C, CTRL_D, CTRL_R, DEX, ENTER, TAB, UP
from tests.serveprocess import serving_process

MANY = 100_000

needs_less = pytest.mark.skipif(shutil.which("less") is None, reason="no less: apt install less")


def script(path: Path, text: str) -> str:
    """Write a program for a person's environment, and give its path."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def fill(home: Path, count: int) -> None:
    """Put rows `k000000` and on into the store."""
    engine = LocalEngine(home / "data")
    engine.execute_many([PutRow(store="accounts.employees", key=b"k%06d" % number) for number in range(count)])
    engine.close()


@pytest.mark.spec("P-01")
@pytest.mark.parametrize("arguments", [[], ["shell"]])
def test_it_opens_runs_a_statement_and_leaves(open_shell: Open, arguments: list[str]) -> None:
    """A table on the screen, and Ctrl-D on an empty line leaves with exit code 0."""
    shell = open_shell(*arguments)
    assert r"\? for help" in shell.ready()
    assert "created" in shell.run(DEFINE + ";")
    assert "accounts.employees" in shell.run("SHOW STATESTORES;")
    leave(shell)


@pytest.mark.spec("P-01")
@pytest.mark.parametrize("answers", [True, False])
def test_the_bar_tells_target_freshness_and_mode(open_shell: Open, answers: bool) -> None:
    """Also on a terminal that never tells where the cursor is; the position moves with what is written."""
    shell = open_shell(answers=answers)
    shell.until("~/data | no position | emacs")
    shell.run("DEFINE FEED a.b;")
    shell.until("~/data | position 1, up to date | emacs")
    leave(shell)


@pytest.mark.spec("P-01", "K-07")
def test_the_bar_tells_of_the_server_that_is_the_target(home: Path, open_shell: Open) -> None:
    with serving_process(home) as server:
        shell = open_shell(DEX_ENDPOINT=server.url, DEX_DATA_DIR=None)
        shell.until(f"{server.url} | position 0, up to date | emacs")
        leave(shell)


@pytest.mark.spec("P-01")
def test_a_statement_goes_on_until_its_semicolon(open_shell: Open) -> None:
    """A `;` in a string ends nothing (cases 2 and 14)."""
    shell = open_shell()
    shell.run("DEFINE FEED a.ev;")
    shell.send("DEFINE STATESTORE a.t FROM FEED a.ev KEYS p = METADATA 'x;" + ENTER)
    shell.continued()
    shell.submit("y' UNIQUE" + ENTER + ";" + ENTER)
    shell.ready()
    assert "a name" not in shell.text
    shell.send("SHOW" + ENTER)
    shell.continued()
    shell.submit("FEEDS;" + ENTER)
    assert "a.ev" in shell.ready()
    leave(shell)


@pytest.mark.spec("P-01", "W-06")
def test_an_error_shows_the_line_with_a_caret(open_shell: Open) -> None:
    shell = open_shell()
    lines = shell.run("DROP STATESTOR x;").splitlines()
    assert lines[0].startswith("error: line 1, column 6: ")
    assert lines[1:] == ["  DROP STATESTOR x;", "       ^"]
    leave(shell)


@pytest.mark.spec("P-01")
def test_tab_completes_names_and_commands(open_shell: Open, define: Callable[[str], None]) -> None:
    """A single fit is put in whole (case 15); several are listed."""
    define(f"{DEFINE}; DEFINE STATESTORE zoo; DEFINE STATESTORE zip")
    shell = open_shell()
    shell.ready()
    shell.send("SHOW STATESTORES; DESCRIBE STATESTORE acc" + TAB)
    shell.until("dex> SHOW STATESTORES; DESCRIBE STATESTORE accounts.employees")
    shell.submit(CTRL_C)
    shell.ready()
    shell.send("store get z" + TAB)
    shell.until(lambda: "zip" in shell.text and "zoo" in shell.text)
    shell.submit(CTRL_C)
    shell.ready()
    shell.send(r"\tim" + TAB)
    shell.until(r"dex> \timing")
    shell.submit(CTRL_C)
    leave(shell)


@pytest.mark.spec("P-01")
def test_ctrl_c_clears_a_half_typed_statement(open_shell: Open) -> None:
    shell = open_shell()
    shell.ready()
    shell.send("DROP STATESTORE" + ENTER)
    shell.continued()
    shell.submit("accounts" + CTRL_C)
    assert "error" not in shell.run("SHOW STATESTORES;")
    leave(shell)


@pytest.mark.spec("P-01", "S-12")
def test_ctrl_c_cancels_a_long_iteration(open_shell: Open, define: Callable[[str], None], home: Path) -> None:
    """The prompt comes back, the next command works, and another process may write (case 13)."""
    define(DEFINE)
    fill(home, MANY)
    shell = open_shell()
    shell.ready()
    shell.submit("store iterate accounts.employees" + ENTER)
    shell.until(lambda: "k000300" in shell.raw)
    shell.send(CTRL_C)
    shell.until("cancelled")
    assert f"k{MANY - 1:06}" not in shell.raw
    assert "accounts.employees" in shell.run("store list")
    other = subprocess.run(
        [DEX, "store", "put", "accounts.employees", "k", "v", "--data-dir", str(home / "data"), "--timeout", "5s"],
        capture_output=True,
        check=True,
    )
    assert json.loads(other.stdout)["replayed"] is False
    assert "replaced" in shell.run("store put accounts.employees k w")
    leave(shell)


@pytest.mark.spec("P-01")
def test_a_statement_of_two_lines_is_one_entry_after_a_restart(open_shell: Open) -> None:
    """One Up recalls both lines, and Ctrl-R finds them (case 14)."""
    shell = open_shell()
    shell.ready()
    shell.send("SHOW" + ENTER)
    shell.continued()
    shell.submit("STATESTORES;" + ENTER)
    leave(shell)
    shell = open_shell()
    shell.ready()
    shell.send(UP)
    shell.until("dex> SHOW\n  -> STATESTORES;")
    shell.submit(CTRL_C)
    shell.run("SHOW FEEDS;")
    shell.send(CTRL_R + "statest" + ENTER)
    shell.until(lambda: shell.text.count("dex> SHOW\n  -> STATESTORES;") == 2)
    shell.submit(CTRL_C)
    leave(shell)


@pytest.mark.spec("P-01")
@pytest.mark.parametrize("variables", [{"HOME": None}, {"HOME": "/proc"}])
def test_without_a_home_it_says_once_that_history_is_off(open_shell: Open, variables: dict[str, str | None]) -> None:
    """Everything else works (case 23)."""
    shell = open_shell(**variables)
    shell.run("SHOW STATESTORES;")
    assert "error" not in shell.run("SHOW FEEDS;")
    assert shell.text.count("history is off") == 1
    leave(shell)


@pytest.mark.spec("P-01")
def test_timing(open_shell: Open) -> None:
    shell = open_shell()
    assert shell.run(r"\timing") == "timing is on"
    assert shell.run("SHOW FEEDS;").splitlines()[-1].endswith(" s")
    leave(shell)


@pytest.mark.spec("P-01")
def test_results_in_a_file_are_as_on_the_screen_without_colours(open_shell: Open, home: Path) -> None:
    shell = open_shell()
    shell.run("DEFINE FEED a.b;")
    assert shell.run(rf"\o {home}/out.txt").startswith("results go to ")
    assert shell.run("SHOW FEEDS;") == ""
    assert "a.b" in (home / "out.txt").read_text()
    assert "\x1b" not in (home / "out.txt").read_text()
    shell.run(r"\o")
    assert "a.b" in shell.run("SHOW FEEDS;")
    leave(shell)


@pytest.mark.spec("P-01")
def test_the_editor_s_text_is_in_the_prompt_for_running(open_shell: Open, home: Path) -> None:
    r"""`\e` edits the last statement, or the one that is half-typed; with a file it edits the file."""
    editor = script(home / "editor", 'sed -i s/STATESTORES/FEEDS/ "$1"')
    shell = open_shell(EDITOR=f"{editor}")
    shell.run("SHOW STATESTORES;")
    shell.send(r"\e" + ENTER)
    shell.until("dex> SHOW FEEDS;")
    shell.submit(ENTER)
    shell.ready()
    shell.send("SHOW" + ENTER)
    shell.continued()
    shell.send("STATESTORES" + ENTER + r"\e" + ENTER)
    shell.until("dex> SHOW\n  -> FEEDS")
    shell.submit(CTRL_C)
    shell.ready()
    (home / "a.wcl").write_text("SHOW\nSTATESTORES;\n")
    shell.send(rf"\e {home}/a.wcl" + ENTER)
    shell.until("dex> SHOW\n  -> FEEDS;")
    shell.submit(CTRL_C)
    assert (home / "a.wcl").read_text() == "SHOW\nFEEDS;\n"
    leave(shell)


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(("editor", "message"), [("no-such-editor", "cannot be started"), ("false", "status 1")])
def test_an_editor_that_fails_is_an_error(open_shell: Open, editor: str, message: str) -> None:
    shell = open_shell(EDITOR=editor)
    assert message in shell.run(r"\e")
    leave(shell)


@pytest.mark.spec("P-01")
def test_a_script_by_name(open_shell: Open, home: Path) -> None:
    (home / "a b.wcl").write_text("DEFINE FEED a.b;\nSHOW FEEDS;\n")
    shell = open_shell()
    shown = shell.run(rf"\i '{home}/a b.wcl'")
    assert "b.wcl:2:1" in shown
    assert "2 statements: 2 ok" in shown
    leave(shell)


@pytest.mark.spec("P-01")
def test_vi_mode(open_shell: Open) -> None:
    """Escape and a command of vi change what is typed; the bar shows the mode."""
    shell = open_shell()
    assert shell.run(r"\mode vi") == "the editing mode is vi"
    shell.until("| vi insert")
    shell.send("SHOW FEEDX;\x1b")
    shell.until("| vi normal")
    shell.send("hrS")
    shell.until("dex> SHOW FEEDS;")
    shell.submit(ENTER)
    assert "error" not in shell.ready()
    assert shell.run(r"\mode emacs") == "the editing mode is emacs"
    shell.until("| emacs")
    leave(shell)


def _define_many(define: Callable[[str], None]) -> None:
    define("".join(f"DEFINE FEED f.n{number:03};" for number in range(60)))


@pytest.mark.spec("P-01")
def test_a_long_result_goes_through_the_pager_and_a_short_one_does_not(
    open_shell: Open, define: Callable[[str], None], home: Path
) -> None:
    """PAGER is split into program and options (case 16)."""
    _define_many(define)
    pager = script(home / "pager", 'echo "paged with $*"; cat')
    shell = open_shell(PAGER=f"{pager} -F 'two words'", rows=30)
    shell.run("SHOW STATESTORES;")
    shell.run("SHOW FEEDS;")
    assert "paged with -F two words" in shell.raw
    assert shell.raw.count("paged with") == 1
    leave(shell)


@needs_less
@pytest.mark.spec("P-01")
def test_less_is_left_by_q_and_the_shell_goes_on(open_shell: Open, define: Callable[[str], None]) -> None:
    _define_many(define)
    shell = open_shell(PAGER=None, rows=30)
    shell.ready()
    shell.submit("SHOW FEEDS;" + ENTER)
    shell.until(lambda: "f.n010" in shell.text and shell.lines[-1].startswith(":"))
    assert "f.n059" not in shell.raw
    shell.send("q")
    assert "error" not in shell.run("SHOW STATESTORES;")
    leave(shell)


@needs_less
@pytest.mark.spec("P-01")
def test_leaving_the_pager_early_ends_the_command(open_shell: Open, define: Callable[[str], None], home: Path) -> None:
    """Rows that nobody wants any more are not read to the end, and that is no error."""
    define(DEFINE)
    fill(home, 5000)
    shell = open_shell(PAGER=None, rows=30)
    shell.ready()
    shell.submit("store iterate accounts.employees" + ENTER)
    shell.until(lambda: shell.lines[-1].startswith(":"))
    shell.send("q")
    shell.ready()
    assert "error" not in shell.raw
    assert "cancelled" not in shell.raw
    assert "accounts.employees" in shell.run("store list")
    leave(shell)


@pytest.mark.spec("P-01")
def test_the_prompt_starts_a_line_after_bytes_that_end_none(open_shell: Open, define: Callable[[str], None]) -> None:
    define(DEFINE)
    shell = open_shell()
    shell.run("store put accounts.employees k bare")
    assert shell.run("store get accounts.employees k --raw") == "bare"
    assert "\nbare\ndex>" in shell.ready()
    leave(shell)


@pytest.mark.spec("P-01")
def test_a_missing_pager_is_told_once(open_shell: Open, define: Callable[[str], None]) -> None:
    """And everything is shown without it (case 16)."""
    _define_many(define)
    shell = open_shell(PAGER="no-such-pager -x", rows=30)
    shell.run("SHOW FEEDS;")
    shell.run("SHOW FEEDS;")
    assert shell.raw.count("warning: the pager 'no-such-pager' is not there") == 1
    assert shell.raw.count("f.n059") == 2
    leave(shell)


@pytest.mark.spec("P-01", "X-07")
@pytest.mark.parametrize(("answer", "left"), [("n", True), ("y", False), (CTRL_C, True), (CTRL_D, True)])
def test_a_destructive_statement_asks(open_shell: Open, define: Callable[[str], None], answer: str, left: bool) -> None:
    define(DEFINE)
    shell = open_shell()
    shell.ready()
    shell.submit("DROP STATESTORE accounts.employees;" + ENTER)
    shell.until("[y/N]")
    shell.send(answer + (ENTER if answer in "yn" else ""))
    shell.ready()
    assert ("accounts.employees" in shell.run("SHOW STATESTORES;")) == left
    leave(shell)


@pytest.mark.spec("P-01", "X-07")
def test_yes_given_to_the_shell_skips_the_question(open_shell: Open, define: Callable[[str], None]) -> None:
    define(DEFINE)
    shell = open_shell("shell", "-y")
    assert "dropped" in shell.run("DROP STATESTORE accounts.employees;")
    leave(shell)


@pytest.mark.spec("P-01", "X-02")
def test_no_color_is_respected(open_shell: Open) -> None:
    shell = open_shell(NO_COLOR="1")
    shell.run("SHOW STATESTOR;")
    assert "\x1b[31m" not in shell.raw
    assert ";38;5;" not in shell.raw
    leave(shell)


@pytest.mark.spec("P-01", "X-04")
@pytest.mark.parametrize("arguments", [[], ["shell"]])
def test_from_a_pipe_it_is_a_batch(environ: dict[str, str], arguments: list[str]) -> None:
    """No prompt, no escape codes, no history; nothing at all on stdin ends at once (cases 12 and 23)."""
    empty = subprocess.run(
        [DEX, *arguments], env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=20
    )
    assert (empty.returncode, empty.stdout, empty.stderr) == (0, b"", b"")
    result = subprocess.run([DEX, *arguments], env=environ, input=b"SHOW STATESTORES;", capture_output=True, check=True)
    assert json.loads(result.stdout)["result"] == []
    assert b"\x1b" not in result.stdout + result.stderr
    assert not Path(environ["HOME"], ".local/state").exists()


@pytest.mark.spec("P-01", "X-02")
def test_results_may_go_to_a_file_from_the_start(open_shell: Open, home: Path) -> None:
    """With standard output elsewhere the person types all the same, and the file has nothing but results."""
    command = f"{shlex.quote(DEX)} > {shlex.quote(str(home / 'out.json'))}"
    shell = open_shell("-c", command, program="/bin/sh")
    shell.run("SHOW FEEDS;")
    leave(shell)
    assert json.loads((home / "out.json").read_text()) == {"command": "show_feeds", "status": "ok", "result": []}


@pytest.mark.spec("P-01")
def test_the_shell_can_be_stopped_and_gone_on_with(open_shell: Open) -> None:
    """Ctrl-Z stops it, and the terminal is as it was meanwhile."""
    jobs = open_shell("--norc", "--noprofile", "-i", program="/bin/bash", PS1="$ ")
    jobs.until("$")
    jobs.send(f"{DEX}\n")
    jobs.until("no position")
    jobs.send("\x1a")
    jobs.until("Stopped")
    jobs.send("fg\n")
    jobs.until(lambda: "dex>" in jobs.text.partition("Stopped")[2])
    jobs.send(CTRL_D)
    jobs.until(lambda: jobs.text.splitlines()[-1] == "$")
    jobs.send("echo code $?\n")
    jobs.until("code 0")


@pytest.mark.spec("P-01")
def test_other_commands_do_not_load_the_shell(environ: dict[str, str]) -> None:
    """What the shell needs costs nobody else a millisecond."""
    program = (
        "import sys; from dex.cli.main import answer; answer(['store', 'list']); "
        "sys.exit(any(name.startswith(('prompt_toolkit', 'pygments', 'dex.cli.shell')) for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, check=True)
