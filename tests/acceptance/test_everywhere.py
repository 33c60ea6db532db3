"""What holds for every command: settings, pipes, signals, time limits and unfriendly surroundings."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import textwrap
from pathlib import Path

import pytest
import yaml

from dex.cli.settings import JOURNAL_MAX_AGE_SECONDS, JOURNAL_MAX_BYTES
from dex.engine.housekeeping import Retention
from tests.acceptance.conftest import DEX, Dex


@pytest.mark.spec("X-01")
def test_global_options_work_before_and_after_the_command(dex: Dex) -> None:
    """The same option in three places does the same, and the one nearest to the end wins."""
    for args in (
        ["-o", "csv", "config", "show"],
        ["config", "-o", "csv", "show"],
        ["-o", "yaml", "config", "show", "-o", "csv"],
    ):
        assert "output,csv,flag --output" in dex.ok(*args).text


@pytest.mark.spec("X-01")
def test_config_show_tells_value_and_origin(dex: Dex) -> None:
    """Contexts are kept by commands, read back, and beaten by the environment and flags (case 24)."""
    dex.ok("context", "add", "far", "data-dir=/far", "timeout=5m")
    dex.ok("context", "add", "near", "data-dir=/near", "output=ndjson")
    dex.ok("context", "use", "near")
    rows = {row["setting"]: (row["value"], row["origin"]) for row in dex.ok("config", "show").lines}
    assert rows["data-dir"] == ("/near", "context near")
    assert rows["output"] == ("ndjson", "context near")
    done = dex("config", "show", "--context", "far", "-o", "json", env={"DEX_DATA_DIR": "/mine"})
    rows = {row["setting"]: (row["value"], row["origin"]) for row in done.json}
    assert rows["data-dir"] == ("/mine", "environment DEX_DATA_DIR")
    assert rows["timeout"] == ("5m", "context far")
    assert [(c["name"], c["current"]) for c in dex.ok("context", "list").lines] == [("far", False), ("near", True)]
    dex.ok("context", "remove", "near")
    assert [c["name"] for c in dex.ok("context", "list").json] == ["far"]
    assert dex("context", "use", "fra").err.endswith("did you mean far?\n")
    assert dex("context", "add", "x", "timeout=soon").code == 2


@pytest.mark.spec("X-01")
def test_config_show_tells_what_holds_where_nobody_has_said(dex: Dex) -> None:
    """Defaults are values; what is null is none. The help tells the file, as it can be read."""
    rows = {row["setting"]: row["value"] for row in dex.ok("config", "show", "-o", "ndjson").lines}
    rows |= {row["setting"]: row["value"] for row in dex.ok("config", "show").json}
    assert (rows["output"], rows["journal-max-bytes"], rows["journal-max-age"]) == ("json", 268435456, "7d")
    assert (Retention().max_bytes, Retention().max_age_ms) == (JOURNAL_MAX_BYTES, JOURNAL_MAX_AGE_SECONDS * 1000)
    text = dex.ok("config", "--help").text
    file = dex.home / "config.yaml"
    file.write_text(textwrap.dedent(text[text.index("      context: staging") : text.index("  A setting comes")]))
    shown = yaml.safe_load(dex.ok("--config", str(file), "config", "show").text)
    rows = {row["setting"]: row["value"] for row in shown}
    assert (rows["data-dir"], rows["timeout"], rows["output"]) == ("/srv/staging", "10s", "yaml")
    told = yaml.safe_load(file.read_text())
    settings = {name for context in (told, *told["contexts"].values()) for name in context}
    assert set(rows) - {"config"} == settings - {"contexts"}


@pytest.mark.spec("X-01")
def test_a_context_keeps_what_it_is_not_told_to_change(dex: Dex) -> None:
    """`add` changes the settings that it names and no others; an empty value takes one away; `show` shows one."""
    created = dex.ok("context", "add", "staging", "data-dir=/srv/dex", "timeout=10s").json
    changed = dex.ok("context", "add", "staging", "timeout=30s", "output=yaml").json
    assert (created["status"], changed["status"]) == ("created", "changed")
    settings = {"data-dir": "/srv/dex", "timeout": "30s", "output": "yaml"}
    shown = dex.ok("context", "show", "staging").json
    assert shown == {"name": "staging", "current": False, "settings": settings}
    dex.ok("context", "add", "staging", "output=")
    assert dex.ok("context", "show", "staging").json["settings"] == {"data-dir": "/srv/dex", "timeout": "30s"}
    assert dex("context", "add", "staging", "timeot=").err.endswith("did you mean timeout?\n")
    assert dex("context", "show", "stagin").err.endswith("did you mean staging?\n")


@pytest.mark.spec("X-01")
def test_a_configuration_file_that_is_a_link_stays_one(dex: Dex) -> None:
    """What the link means is replaced, as people keep their settings elsewhere; its permissions stay."""
    target, link = dex.home / "dotfiles.yaml", dex.home / "config.yaml"
    target.write_text("output: json\n")
    target.chmod(0o644)
    link.symlink_to(target)
    dex.ok("--config", "config.yaml", "context", "add", "a", "timeout=1s")
    assert link.is_symlink()
    assert "contexts:" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o644


@pytest.mark.spec("X-01")
@pytest.mark.parametrize("home", [None, "", "/nonexistent"])
def test_commands_work_without_a_home(dex: Dex, home: str | None) -> None:
    """HOME missing, empty or not there: commands work and write nothing there (case 23)."""
    environ = {name: value for name, value in dex.environ.items() if name not in ("HOME", "XDG_CONFIG_HOME")}
    if home is not None:
        environ["HOME"] = home
    done = subprocess.run([DEX, "store", "list"], env=environ, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"[]\n", b"")


@pytest.mark.spec("X-01", "X-03")
@pytest.mark.parametrize(
    ("make", "given", "what"),
    [
        ("touch place", "place/data", "place is a file"),
        ("touch place", "place", "place is a file"),
        ("mkfifo place", "place", "place is a named pipe"),
        ("touch file; ln -s file place", "place", "place is a link to a file"),
        ("ln -s place place", "place", "place is a link that leads nowhere"),
        ("ln -s /dev/null place", "/dev/null", "/dev/null is a device"),
    ],
)
def test_a_data_directory_that_is_none_is_one_line(dex: Dex, make: str, given: str, what: str) -> None:
    """What stands in its place is told with its kind, and what to do."""
    subprocess.run(make, shell=True, cwd=dex.home, check=True)
    for args in (["store", "list"], ["store", "define", "s"]):
        done = dex(*args, "--data-dir", given)
        assert (done.code, done.out, done.err.count("\n")) == (1, b"", 1)
        assert what in done.err
        assert f"{given} as the data directory" in done.err
        assert done.err.endswith("and not a directory; name another --data-dir, or move it away\n")


@pytest.mark.spec("X-02")
def test_a_reader_that_leaves_is_no_error(dex: Dex) -> None:
    """`iterate | head -1` over 10,000 rows: one line, nothing on stderr, exit 141 (case 11)."""
    rows = "".join(f'{{"key":"{number:05}","payload":"{"x" * 60}"}}\n' for number in range(10_000))
    dex.ok("store", "define", "s")
    dex.ok("store", "import", "s", "-", input=rows)
    for form in ("ndjson", "table"):
        with dex.start("store", "iterate", "s", "-o", form) as iterate:
            assert iterate.stdout is not None
            assert iterate.stderr is not None
            assert iterate.stdout.readline() != b""
            iterate.stdout.close()
            assert (iterate.wait(timeout=30), iterate.stderr.read()) == (141, b"")


@pytest.mark.spec("X-03")
def test_interrupted_is_one_line_and_130(dex: Dex) -> None:
    """Ctrl-C while a command waits for its input ends it with "cancelled"."""
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [DEX, "batch", "-v", "-"], env=dex.environ, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.close(reading)
    _wait_until_it_reads(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    os.close(writing)
    assert (process.returncode, out, err) == (130, b"", b"cancelled\n")


def _wait_until_it_reads(pid: int) -> None:
    """Return once a process sleeps in a read of a pipe, with Python's own signal handler in place."""
    status = Path(f"/proc/{pid}/status")
    wchan = Path(f"/proc/{pid}/syscall")
    while True:
        caught = re.search(r"SigCgt:\s*([0-9a-f]+)", status.read_text())
        handled = caught is not None and int(caught[1], 16) & (1 << (signal.SIGINT - 1))
        try:
            if handled and wchan.read_text().split()[:2] == ["0", "0x0"]:
                return
        except OSError:
            pytest.skip("this system does not tell what a process waits for")


@pytest.mark.spec("X-03")
def test_a_command_that_takes_too_long_ends_with_4(dex: Dex) -> None:
    """`--timeout` bounds the whole command and says so in one line."""
    dex.ok("feed", "define", "f")
    done = dex("feed", "tail", "f", "--timeout", "200ms")
    assert (done.code, done.out, done.err.count("\n")) == (4, b"", 1)
    assert "timed out after 200ms" in done.err
    assert "applied" not in done.err  # nothing was written, so nobody needs to look
    assert dex("feed", "tail", "f", "--timeout", "200ms", "-o", "json").error["kind"] == "timeout"


@pytest.mark.spec("X-03", "X-05")
def test_servers_that_do_not_answer_are_named_before_the_time_is_over(dex: Dex) -> None:
    """They take connections, as processes do that hang."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        urls = [f"http://127.0.0.1:{listener.getsockname()[1]}" for listener in (one, two)]
        done = dex("store", "put", "s", "k", "v", "--timeout", "1s", "-o", "json", "--endpoint", ",".join(urls))
    assert (done.code, done.error["kind"]) == (4, "unavailable")
    assert all(url in done.error["message"] for url in urls)


@pytest.mark.spec("X-03", "X-05")
def test_out_of_time_says_what_may_have_happened(dex: Dex) -> None:
    """While others hold the file, a write that ends may have been applied; smoke tells what it was in, and the rest."""
    dex.ok("store", "define", "s")
    holder = sqlite3.connect(dex.home / "data" / "dex" / "dex.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    put = dex("store", "put", "s", "k", "v", "--timeout", "200ms")
    assert (put.code, "may or may not have been applied" in put.err) == (4, True)
    smoke = dex("smoke", "--timeout", "300ms", "--report", "junit:smoke.xml")
    holder.close()
    assert smoke.code == 4
    assert "timed out after 300ms in check wcl" in smoke.err
    assert [(check["check"], check["status"]) for check in smoke.json] == [("engine", "ok"), ("wcl", "failed")]
    assert (dex.home / "smoke.xml").read_text().count("<failure") == 1


@pytest.mark.spec("X-03")
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_very_long_name_is_not_repeated_whole(dex: Dex, form: str) -> None:
    """Whatever is named: a store, a command, an option, a member of JSON, a file or a setting."""
    name = "x" * 100_000
    for args in (
        ["store", "get", name, "k"],
        [name],
        ["store", f"--{name}"],
        ["store", "list", name],
        ["command", f'{{"command": "{name}"}}'],
        ["command", f'{{"command": "get_row", "{name}": 1}}'],
        ["wcl", f"DEFINE STATESTORE {name}"],
        ["wcl", "-f", name],
        ["batch", name],
        ["store", "list", "--context", name],
        ["store", "list", "--timeout", name],
        ["store", "list", "--data-dir", name],
    ):
        done = dex(*args, "-o", form)
        assert done.code in (1, 2)
        assert len(done.err) < 2500, args[0][:20]
        assert "xxxxx" in done.err


@pytest.mark.spec("X-03")
def test_a_traceback_is_shown_on_request_only(dex: Dex) -> None:
    """-vv shows where an error comes from; without it there is one line."""
    done = subprocess.run([DEX, "-vv", "store", "get", "s", "k"], env=dex.environ, capture_output=True, check=False)
    assert b"Traceback" in done.stderr
    assert dex("-v", "store", "get", "s", "k").err.count("\n") == 1


@pytest.mark.spec("X-02")
def test_colour_is_judged_for_each_stream(dex: Dex) -> None:
    """A pipe has none, FORCE_COLOR and the flag bring it, NO_COLOR beats FORCE_COLOR (case 21)."""
    failing = ("store", "get", "s", "k")
    assert "\x1b" not in dex(*failing).err
    assert "\x1b[31m" in dex(*failing, env={"FORCE_COLOR": "1"}).err
    assert "\x1b[31m" in dex(*failing, "--color", "always", env={"NO_COLOR": "1"}).err
    assert "\x1b" not in dex(*failing, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).err
    table = ("config", "show", "-o", "table")
    assert b"\x1b" not in dex(*table).out
    assert b"\x1b" in dex(*table, "--color", "always").out
    assert b"\x1b" not in dex("config", "show", "-o", "json", "--color", "always").out


@pytest.mark.spec("X-03", "X-02")
def test_output_that_cannot_be_written_is_an_error(dex: Dex) -> None:
    """A full disk under standard output is exit 1 and one line, never a silent success."""
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device, not a path of ours
        done = subprocess.run(
            [DEX, "config", "show"], env=dex.environ, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"No space left" in done.stderr


@pytest.mark.spec("X-05")
def test_smoke_checks_everything_and_leaves_nothing(dex: Dex) -> None:
    """Every check passes on a fresh target, twice; the report has them; no store and no feed is left, nor its name."""
    first = dex.ok("smoke", "--report", "junit:smoke.xml").json
    assert {check["status"] for check in first} == {"ok"}
    assert all(check.keys() == {"check", "status", "seconds", "detail"} for check in first)
    assert (dex.home / "smoke.xml").read_text().count("<testcase") == len(first)
    dex.ok("smoke")
    assert dex.ok("store", "list").json == dex.ok("feed", "list").json == []
    connection = sqlite3.connect(dex.home / "data" / "dex" / "dex.db")
    assert connection.execute("SELECT name FROM stores UNION ALL SELECT name FROM feeds").fetchall() == []
    connection.close()


@pytest.mark.spec("X-08")
def test_the_version_is_told(dex: Dex) -> None:
    """Alone and beside other options."""
    assert dex.ok("--version").text == dex.ok("-o", "json", "--version").text == "dex 0.1.0\n"


@pytest.mark.spec("X-01", "S-01")
def test_the_configuration_file_bounds_the_journal(dex: Dex) -> None:
    """With a small `journal-max-bytes` old records go, and the rows stay."""
    config = dex.home / "config" / "dex" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("journal-max-bytes: 1000\n")
    dex.ok("store", "define", "s")
    rows = "".join(f'{{"key":"{number}","payload":"{"x" * 100}"}}\n' for number in range(1000))
    dex.ok("store", "import", "s", "-", input=rows)
    dex.ok("feed", "define", "f")
    dex.ok("store", "define", "over-f", "--from-feed", "f")  # waits until all housekeeping is done
    file = dex.home / "data" / "dex" / "dex.db"
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM journal").fetchone()
    connection.close()
    assert kept < 500
    assert dex.ok("store", "describe", "s").json["rows"] == 1000
