"""`dex batch`, and `dex` on a pipe."""

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.acceptance.conftest import Dex

TWO = "DROP STATESTORE no.such;\nSHOW STATESTORES;"


def script(dex: Dex, name: str, text: str) -> Path:
    """Write a script."""
    file = dex.home / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.spec("X-04")
def test_each_statement_of_each_file_gives_a_record(dex: Dex) -> None:
    """Files and patterns in order, with file, line, column, status, seconds and result; the summary is on stderr."""
    script(dex, "m/1.wcl", "-- first\nDEFINE STATESTORE a.one;\n")
    script(dex, "m/2.wcl", "DEFINE STATESTORE a.two; SHOW STATESTORES")
    done = dex.ok("batch", "m/*.wcl")
    assert [(r["file"], r["line"], r["column"], r["status"]) for r in done.lines] == [
        ("m/1.wcl", 2, 1, "created"),
        ("m/2.wcl", 1, 1, "created"),
        ("m/2.wcl", 1, 26, "ok"),
    ]
    assert all(record["seconds"] >= 0 and "result" in record for record in done.lines)
    assert done.err == "3 statements: 3 ok, 0 failed\n"


@pytest.mark.spec("X-04", "W-05")
def test_a_batch_can_be_run_again(dex: Dex) -> None:
    """The second run changes nothing and succeeds."""
    script(dex, "s.wcl", "DEFINE STATESTORE a.b KEYS k; DEFINE FEED IF NOT EXISTS f; DROP FEED IF EXISTS g;")
    dex.ok("batch", "s.wcl", "--yes")
    assert [record["status"] for record in dex.ok("batch", "s.wcl", "--yes").lines] == ["unchanged"] * 3


@pytest.mark.spec("X-04", "X-03")
def test_the_first_failure_stops_the_batch(dex: Dex) -> None:
    """Exit 1, empty stdout, and stderr says which of two statements it was (case 9)."""
    done = dex("batch", "-", "--yes", input=TWO)
    assert (done.code, done.out) == (1, b"")
    assert done.err.startswith("2 statements: 0 ok, 1 failed, 1 not run")
    assert "error: -:1:1: statement 1 of 2: there is no store 'no.such'" in done.err


@pytest.mark.spec("X-04", "X-03")
def test_with_continue_on_error_everything_runs(dex: Dex) -> None:
    """Both statements run, the records tell both outcomes, and the exit is still 1 (case 9)."""
    done = dex("batch", "-", "--yes", "--continue-on-error", input=TWO)
    assert done.code == 1
    failed, shown = done.lines
    assert (failed["status"], failed["error"]["kind"]) == ("failed", "refused")
    assert (shown["status"], shown["result"]) == ("ok", [])


@pytest.mark.spec("X-04")
def test_syntax_is_checked_first_unless_errors_may_pass(dex: Dex) -> None:
    """A syntax error in the last file keeps all from running; --continue-on-error judges statements alone."""
    script(dex, "a.wcl", "DEFINE STATESTORE a.b;")
    script(dex, "b.wcl", "SHOW STATESTORES;\nDROPSTATESTORE a.b;")
    done = dex("batch", "a.wcl", "b.wcl")
    assert (done.code, done.out) == (2, b"")
    assert "b.wcl:2:1: " in done.err
    assert dex.ok("store", "list").json == []
    done = dex("batch", "a.wcl", "b.wcl", "--continue-on-error")
    assert done.code == 2
    assert [record["status"] for record in done.lines] == ["created", "ok", "failed"]
    place = "b.wcl:2:1: statement 3 of 3: expected DEFINE, DROP, DESCRIBE or SHOW, found DROPSTATESTORE; did you mean"
    assert done.err.startswith(place)  # once, and no line of the statement alone


@pytest.mark.spec("X-04", "X-03")
@pytest.mark.parametrize("missing", ["none.wcl", "none/*.wcl"])
def test_a_missing_file_is_exit_2_before_anything_runs(dex: Dex, missing: str) -> None:
    """The file before it has not run either (case 8)."""
    script(dex, "a.wcl", "DEFINE STATESTORE a.b;")
    done = dex("batch", "a.wcl", missing)
    assert (done.code, done.out) == (2, b"")
    assert missing in done.err
    assert not (dex.home / "data").exists()


@pytest.mark.spec("X-04")
def test_a_dry_run_checks_and_changes_nothing(dex: Dex) -> None:
    """Each record is valid and has the canonical text; no data directory is made, and drops need no consent."""
    done = dex.ok("batch", "-", "--dry-run", input="define statestore a.b keys k unique; drop statestore c;")
    assert [(r["status"], r["result"]) for r in done.lines] == [
        ("valid", "DEFINE STATESTORE a.b KEYS k UNIQUE"),
        ("valid", "DROP STATESTORE c"),
    ]
    assert not (dex.home / "data").exists()


@pytest.mark.spec("X-04")
def test_a_report_for_ci_is_written_also_when_the_batch_fails(dex: Dex) -> None:
    """JUnit XML has a case for each statement: the one that stopped it failed, and those after it are skipped."""
    dex("batch", "-", "--report", "junit:out.xml", input="SHOW FEEDS; DESCRIBE FEED x; SHOW FEEDS;")
    suite = ET.parse(dex.home / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["skipped"]]


@pytest.mark.spec("X-04")
@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("SHOW FEEDS;\nSHOW FEED;", "s.wcl 2:6", "expected"),
        ("SHOW FEEDS; DROP FEED x;", "s.wcl 1:13", "--yes"),
        (None, "s.wcl read", "no file s.wcl"),
    ],
    ids=["syntax", "consent", "missing"],
)
def test_a_report_tells_also_why_nothing_ran(dex: Dex, text: str | None, name: str, told: str) -> None:
    """The commonest failure of CI, a script that cannot be read, is a failed case."""
    script(dex, "a.wcl", "SHOW FEEDS;")
    if text is not None:
        script(dex, "s.wcl", text)
    assert dex("batch", "a.wcl", "s.wcl", "--report", "junit:out.xml").code in (1, 2)
    suite = ET.parse(dex.home / "out.xml").getroot()[0]
    assert suite.get("failures") == "1"
    assert f"{suite[0].get('classname')} {suite[0].get('name')}" == name
    assert told in str(suite[0][0].text)
    assert all([child.tag for child in case] == ["skipped"] for case in list(suite)[1:])


@pytest.mark.spec("X-04", "X-02", "X-03")
@pytest.mark.parametrize("command", ["wcl", "batch"])
def test_csv_of_statements_is_one_table_and_not_lost(dex: Dex, command: str) -> None:
    """What ran before a failure is there, under one header that does not depend on the statements."""
    done = dex(
        command, "-", "-o", "csv", input="SHOW FEEDS; DEFINE FEED f; DESCRIBE FEED f; DESCRIBE FEED x; SHOW FEEDS;"
    )
    assert done.code == 1
    header, *rows = csv.reader(io.StringIO(done.text, newline=""))
    assert {"command", "status", "result"} <= set(header)
    assert [row[header.index("command")] for row in rows] == ["show_feeds", "define_feed", "describe_feed"]
    assert all(len(row) == len(header) for row in rows)
    assert json.loads(rows[2][header.index("result")])["name"] == "f"


@pytest.mark.spec("W-05", "X-04")
@pytest.mark.parametrize("command", ["wcl", "batch"])
def test_a_declaration_that_does_not_match_is_a_warning(employees: Dex, command: str) -> None:
    """Exit 0, and stderr says that nothing changed, where, and what the store has; in JSON where that was asked for."""
    text = "SHOW FEEDS;\nDEFINE STATESTORE accounts.employees KEYS department;"
    (employees.home / "s.wcl").write_text(text)
    file = ("-f", "s.wcl") if command == "wcl" else ("s.wcl",)
    done = employees(command, *file, "-o", "table")
    assert done.code == 0
    assert "warning: s.wcl:2:1: the store exists with other keys (department, passport UNIQUE)" in done.err
    warning = json.loads(employees(command, *file, "-o", "json").err.splitlines()[0])["warning"]
    assert (warning["kind"], warning["line"]) == ("unchanged", 2)
    assert employees.ok("store", "define", "accounts.employees", "--key", "a").err.startswith(
        "warning: the store exists"
    )
    assert (
        "warning"
        not in employees.ok("wcl", "DEFINE STATESTORE accounts.employees KEYS department, passport UNIQUE").err
    )


@pytest.mark.spec("X-04", "P-01")
def test_dex_on_a_pipe_is_a_batch(dex: Dex) -> None:
    """`echo … | dex` runs the statements; an empty standard input is a success without output (case 12)."""
    assert dex.ok(input="SHOW STATESTORES;\r\n").lines[0]["status"] == "ok"
    done = dex.ok()
    assert (done.out, done.err) == (b"", "")


@pytest.mark.spec("X-03", "X-04")
def test_with_json_the_only_thing_on_stderr_of_a_failure_is_json(dex: Dex) -> None:
    """A program can parse standard error whichever way the batch failed."""
    assert dex("batch", "-", "-y", "-o", "ndjson", input=TWO).error["statement"] == 1
    done = dex("batch", "-", "-y", "-o", "ndjson", "--continue-on-error", input=TWO)
    assert (done.code, done.error["failed"], done.error["statements"]) == (1, 1, 2)


@pytest.mark.spec("X-04", "X-07")
def test_what_needs_consent_is_told_with_its_place(dex: Dex) -> None:
    """In a batch, and in statements from a file or an argument; as facts where errors are JSON (cases 8 and 9)."""
    dex.ok("wcl", "DEFINE STATESTORE s KEYS k")
    script(dex, "s.wcl", "DEFINE FEED q;\n  DROP STATESTORE s;")
    for args in (("batch", "s.wcl"), ("wcl", "-f", "s.wcl")):
        done = dex(*args)
        assert (done.code, done.out) == (1, b"")
        assert done.err.startswith("error: s.wcl:2:3: statement 2 of 2: DROP STATESTORE s ")
        assert "--yes" in done.err
        facts = dex(*args, "-o", "json").error
        assert [facts[name] for name in ("file", "line", "column", "statement")] == ["s.wcl", 2, 3, 2]
    assert dex("wcl", "SHOW FEEDS; DROP STATESTORE s").err.startswith("error: line 1, column 13: statement 2")
    assert [feed["name"] for feed in dex.ok("feed", "list").json] == []


@pytest.mark.spec("X-04", "X-05")
def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(dex: Dex) -> None:
    """No statement runs whose outcome could not be told."""
    script(dex, "s.wcl", "DEFINE FEED q;")
    (dex.home / "folder").mkdir()
    for name, told in (("none/x.xml", "No such file"), ("folder", "Is a directory")):
        for command in (("batch", "s.wcl"), ("smoke",)):
            done = dex(*command, "--report", f"junit:{name}")
            assert (done.code, done.out, done.err.count("\n")) == (2, b"", 1)
            assert done.err.startswith(f"error: the report {name} cannot be written: {told}")
    assert dex.ok("feed", "list").json == []


@pytest.mark.spec("P-01", "P-02", "X-03")
def test_lines_of_the_shell_can_be_piped(dex: Dex) -> None:
    """Every kind of input, with the exit code of the one that fails; what is WCL alone stays a batch."""
    lines = [
        "store define s --key k",
        "store put s a v --named k=1",
        "DEFINE FEED",
        "  f;",
        "\\df",
        "store get s a --raw",
    ]
    done = dex(input="\n".join(lines))
    assert (done.code, done.err) == (0, "")
    defined, put, feed, feeds, row = done.text.splitlines()
    assert ('"name":"s"' in defined, '"seq":2' in put, '"define_feed"' in feed, row) == (True, True, True, "v")
    assert feeds == '[{"name":"f","stage":"active","stores":[]}]'
    done = dex("-o", "csv", input="feed list\nstore nope\nfeed list\n")
    assert (done.code, done.text.splitlines()) == (2, ["name,stage,stores", 'f,active,"[]"'])
    assert done.err.endswith("warning: -:2: this failed, and nothing after it was run\n")
    assert dex(input="store drop s\n").code == 1
    assert dex.ok("--yes", input="store drop s\n").json["status"] == "dropped"
