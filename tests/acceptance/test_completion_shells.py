"""Completion in the real shells: type, press Tab, run the line (case 17)."""

import shutil
from pathlib import Path

import pexpect
import pytest

from tests.acceptance.conftest import Dex

COMPLETIONS = Path(__file__).parents[2] / "completions"

START = {
    "bash": (["--norc", "--noprofile", "-i"], "PS1=''; source {}/dex.bash"),
    "zsh": (["-f", "-i"], "PS1=''; autoload -Uz compinit; compinit -u -d $HOME/.zcompdump; source {}/_dex"),
    "fish": (["--no-config", "-i"], "source {}/dex.fish"),
}

LINES = [
    ("dex -o json store describe eu:or\t", '"name": "eu:orders"'),
    ("dex -o json store describe 'eu:us\t", '"name": "eu:users"'),
    ("dex --output=js\tstore desc\teu:o\t", '"name": "eu:orders"'),
    ("dex -o json store get-by eu:orders ba\tx", '"rows": []'),
    ("dex -o json store put eu:orders k --named ba\t7", '"replaced": false'),
    ("dex -o json store get-by eu:orders badge 7", '"badge": "7"'),
    ("dex -o ndjson batch my\\ s\t", '"file":"my script.wcl"'),
    ("dex -o ndjson batch my\t", '"file":"my script.wcl"'),
]


@pytest.mark.spec("X-06")
@pytest.mark.parametrize("shell", START)
def test_completed_lines_run(dex: Dex, shell: str) -> None:
    """Names with a colon complete whole and once, paths with a space to a line that runs, without noise."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    dex.ok(
        "wcl", 'DEFINE STATESTORE "eu:orders" KEYS badge; DEFINE STATESTORE "eu:users" KEYS other; DEFINE FEED other'
    )
    (dex.home / "my script.wcl").write_text("SHOW FEEDS;\n")
    args, setup = START[shell]
    environ = {**dex.environ, "FORCE_COLOR": "1", "fish_greeting": ""}
    child = pexpect.spawn(
        program, args, env=environ, cwd=str(dex.home), encoding="utf-8", timeout=20, dimensions=(50, 200)
    )
    child.sendline(setup.format(COMPLETIONS))
    child.sendline("echo rea''dy")
    child.expect_exact("ready\r\n")
    for line, shown in LINES:
        child.send(f"{line}\r")
        child.expect_exact(shown)
        assert "error" not in str(child.before)
        child.sendline("echo do''ne")
        child.expect_exact("done\r\n")
    child.close(force=True)


@pytest.mark.spec("X-06")
def test_completion_is_silent_plain_and_leaves_nothing(dex: Dex) -> None:
    """No colour under FORCE_COLOR, nothing on stderr, no database, whatever is asked."""
    for line in ("dex store get ", "dex --nonsense ", "dex 'open", ""):
        done = dex("__complete", "bash", line, env={"FORCE_COLOR": "1"})
        assert (done.code, done.err) == (0, "")
        assert b"\x1b" not in done.out
    assert not (dex.home / "data").exists()


@pytest.mark.spec("X-06")
def test_one_command_installs_it(dex: Dex) -> None:
    """A bash that starts after `completion bash --install` completes by itself."""
    program = shutil.which("bash")
    if program is None:
        pytest.skip("bash is not installed here")
    dex.ok("completion", "bash", "--install")
    dex.ok("wcl", 'DEFINE STATESTORE "eu:orders"')
    child = pexpect.spawn(
        program, ["-i"], env=dex.environ, cwd=str(dex.home), encoding="utf-8", timeout=20, dimensions=(50, 200)
    )
    child.sendline("echo rea''dy")
    child.expect_exact("ready\r\n")
    child.send("dex -o json store describe eu\t\r")
    child.expect_exact('"name": "eu:orders"')
    child.close(force=True)
