"""Standard streams that are closed or full, and Ctrl-C before a command has begun."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.acceptance.conftest import DEX, Dex, Done

STORE = "accounts.employees"


def _run(dex: Dex, *args: str, closed: str = "", full: bool = False) -> Done:
    """Run with streams closed as a shell closes them, or with a full disk under standard output."""
    if full:
        closed = ">/dev/full"
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" "$@" {closed}', DEX, *args],
        env=dex.environ,
        cwd=dex.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr.decode())


COMMANDS = [
    ("--version",),
    ("__complete", "zsh", "dex", "st"),
    ("--help",),
    ("store", "--help"),
    ("store", "list"),
    ("store", "iterate", STORE),
    ("store", "export", STORE, "-"),
    ("batch", "schema.wcl"),
    ("wcl", "SHOW STATESTORES"),
    ("config", "show"),
    ("completion", "bash"),
]


@pytest.mark.spec("X-02", "X-03")
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("told", ["standard output is closed", "No space left"])
def test_output_that_is_closed_or_full_is_one_line(employees: Dex, args: tuple[str, ...], told: str) -> None:
    """Every command that has a result says that it is lost, and ends with 1."""
    employees.ok("store", "put", STORE, "a", "x")
    (employees.home / "schema.wcl").write_text("SHOW STATESTORES;")
    done = _run(employees, *args, closed=">&-", full=told.startswith("No"))
    errors = [line for line in done.err.splitlines() if not line.endswith("0 failed")]
    assert (done.code, len(errors)) == (1, 1), done.err
    assert told in errors[0]


@pytest.mark.spec("X-02", "X-03")
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_write_is_done_where_its_result_cannot_be_told(employees: Dex, closed: str) -> None:
    """The exit code tells that the result is lost; the file of the engine never gets the number of a stream."""
    done = _run(employees, "store", "put", STORE, "a", "x", closed=closed)
    assert (done.code, "standard output is closed" in done.err) == (1, "2>" not in closed)
    assert employees.ok("store", "get", STORE, "a").json["payload"] == "x"


@pytest.mark.spec("X-03")
@pytest.mark.parametrize("sink", ["2>&-", "2>/dev/full"])
def test_messages_that_cannot_be_written_change_nothing(employees: Dex, sink: str) -> None:
    """The exit code is that of the command, whose result is written."""
    assert _run(employees, "store", "get", STORE, "none", closed=sink).code == 1
    assert _run(employees, "store", "lsit", closed=sink).code == 2
    (employees.home / "schema.wcl").write_text("SHOW STATESTORES;")
    done = _run(employees, "batch", "schema.wcl", closed=sink)
    assert (done.code, done.json["status"]) == (0, "ok")


@pytest.mark.spec("X-03", "P-01")
def test_input_that_is_closed_is_empty(employees: Dex) -> None:
    """What reads standard input finds nothing there, as with /dev/null, and nobody can be asked."""
    for args in ((), ("batch", "-"), ("store", "put", STORE, "empty", "-"), ("store", "import", STORE, "-")):
        done, null = (_run(employees, *args, closed=stream) for stream in ("<&-", "</dev/null"))
        assert (done.code, done.err) == (null.code, null.err) == (0, done.err)
    assert employees.ok("store", "get", STORE, "empty").json["payload"] == ""
    for args in (("wcl", "-"), ("command", "-"), ("store", "drop", STORE)):
        done, null = (_run(employees, *args, closed=stream) for stream in ("<&-", "</dev/null"))
        assert done == null
        assert done.err.count("\n") <= 1
        assert "bug" not in done.err


@pytest.mark.spec("X-03")
def test_ctrl_c_is_quiet_from_the_first_line_of_ours(dex: Dex) -> None:
    """Ctrl-C while modules are imported ends the process with 130 and one line, whichever module it is."""
    for module in ("dex.cli.run", "dex.cli.session", "typer", "dex.cli.app", "dex.cli.commands.store.list"):
        done = _interrupted_at(dex, module)
        assert (done.code, done.out, done.err) == (130, b"", "cancelled\n"), module
    for module in ("sqlite3", "dex.engine.local"):
        done = _interrupted_at(dex, module)
        assert (done.code, done.out, done.err) == (130, b"", "cancelled\n"), module


def _interrupted_at(dex: Dex, module: str) -> Done:
    """Run `dex store list` and send it SIGINT when it looks for a module."""
    program = f"""
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["dex", "store", "list"]
from dex.cli.main import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=dex.environ, cwd=dex.home, capture_output=True, timeout=60, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr.decode())


@pytest.mark.spec("X-03")
def test_ctrl_c_that_is_ignored_stays_so(dex: Dex) -> None:
    """A job that a shell has started in the background is not ended by the Ctrl-C that ends another."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = dex.start("store", "list")
    finally:
        signal.signal(signal.SIGINT, before)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)  # between signals, not until something is done
    assert process.communicate()[0] == b"[]\n"


@pytest.mark.spec("X-03", "X-01")
def test_the_time_limit_covers_the_reading_of_the_configuration(dex: Dex) -> None:
    """A configuration that never comes ends at the time limit, and one without an end is refused."""
    pipe = dex.home / "pipe"
    os.mkfifo(pipe)
    done = dex("--config", "pipe", "--timeout", "200ms", "store", "list")
    assert (done.code, done.out) == (4, b"")
    assert done.err == "error: timed out after 200ms; raise --timeout, or try again\n"
    assert dex("store", "list", env={"DEX_CONFIG": str(pipe), "DEX_TIMEOUT": "200ms"}).code == 4
    done = dex("--config", "/dev/zero", "store", "list")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert Path("/dev/zero").is_char_device()


@pytest.mark.spec("X-03", "X-01")
def test_a_time_limit_beyond_any_clock_is_refused(dex: Dex) -> None:
    """From a flag, the environment or the file; what people may mean by for ever works."""
    (dex.home / "config.yaml").write_text("timeout: 9999999999h\n")
    for done in (
        dex("--timeout", "9999999999h", "store", "list"),
        dex("store", "list", env={"DEX_TIMEOUT": "9" * 400 + "d"}),
        dex("--config", "config.yaml", "store", "list"),
    ):
        assert (done.code, done.out, done.err.count("\n")) == (2, b"", 1)
        assert ("is too long" in done.err, "36500d is the longest" in done.err, len(done.err) < 150) == (True,) * 3
    dex.ok("--timeout", "36500d", "feed", "define", "f")
