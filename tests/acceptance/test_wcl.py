"""`dex wcl` and `dex command`."""

import json
import re

import pytest

from dex.cli.commands.command import EXAMPLES
from dex.wcl.wire import decode_commands
from tests.acceptance.conftest import Dex


@pytest.mark.spec("W-01", "W-03", "W-09")
def test_each_statement_gives_a_result(dex: Dex) -> None:
    """One object per statement: command, status and result; the four statuses."""
    script = "DEFINE STATESTORE a.b KEYS k; DEFINE STATESTORE a.b KEYS k; SHOW STATESTORES; DROP STATESTORE a.b"
    results = dex.ok("wcl", script, "--yes").lines
    assert [(result["command"], result["status"]) for result in results] == [
        ("define_state_store", "created"),
        ("define_state_store", "unchanged"),
        ("show_state_stores", "ok"),
        ("drop_state_store", "dropped"),
    ]
    assert results[2]["result"][0]["name"] == "a.b"


@pytest.mark.spec("W-04", "X-03")
def test_nothing_runs_unless_everything_can_be_read(dex: Dex) -> None:
    """A syntax error in the second statement keeps the first from running (cases 4 and 7)."""
    (dex.home / "script.wcl").write_text("-- a comment\nDEFINE STATESTORE a.b;\n\nDROP STATESTOR x;\n")
    done = dex("wcl", "-f", "script.wcl")
    assert (done.code, done.out) == (2, b"")
    first, source, caret = done.err.splitlines()
    assert first.startswith("error: script.wcl:4:6: ")
    assert first.endswith("did you mean STATESTORE?")
    assert source[caret.index("^") :] == "STATESTOR x;"
    assert dex.ok("store", "list").json == []


@pytest.mark.spec("X-03", "X-04")
def test_a_failing_statement_stops_the_rest_the_same_on_every_way_in(employees: Dex) -> None:
    """By argument, file and standard input: exit 1, what ran is printed, the error says which one (cases 8 and 9)."""
    script = "SHOW STATESTORES; DESCRIBE STATESTORE no.such; SHOW FEEDS;"
    (employees.home / "s.wcl").write_text(script)
    for done in (
        employees("wcl", script),
        employees("wcl", "-f", "s.wcl"),
        employees("wcl", "-", input=script),
        employees("wcl", "-f", "-", input=script),
    ):
        assert done.code == 1
        assert [line["command"] for line in done.lines] == ["show_state_stores"]
        assert "statement 2 of 3" in done.err
        assert "no.such" in done.err


@pytest.mark.spec("X-03")
def test_errors_are_json_where_json_was_asked_for(dex: Dex) -> None:
    """Standard error is one object with kind, message, remedy and facts, and standard output is empty."""
    done = dex("-o", "json", "wcl", "DROP STATESTOR x")
    assert (done.code, done.out) == (2, b"")
    assert done.error["kind"] == "syntax"
    assert (done.error["line"], done.error["column"], done.error["suggestion"]) == (1, 6, "STATESTORE")
    done = dex("wcl", "DESCRIBE STATESTORE x", "-o", "ndjson")
    assert done.code == 1
    assert done.error["remedy"]


@pytest.mark.spec("X-07")
@pytest.mark.parametrize(
    "args",
    [
        ["wcl", "DROP STATESTORE accounts.employees"],
        ["batch", "-"],
        ["command", '{"command": "drop_state_store", "name": "accounts.employees"}'],
        ["store", "drop", "accounts.employees"],
        ["store", "clear", "accounts.employees"],
        ["feed", "drop", "f"],
    ],
    ids=lambda args: " ".join(args[:2]),
)
def test_destruction_without_a_terminal_needs_yes(employees: Dex, args: list[str]) -> None:
    """No prompt and no hang: refused with "use --yes", and nothing has changed (case 10)."""
    employees.ok("feed", "define", "f")
    done = employees(*args, input="DROP STATESTORE accounts.employees;")
    assert (done.code, done.out) == (1, b"")
    assert "use --yes" in done.err
    assert employees.ok("store", "describe", "accounts.employees").json["stage"] == "active"


@pytest.mark.spec("X-07")
def test_yes_is_consent(employees: Dex) -> None:
    """With --yes the drop from a script runs (case 10)."""
    employees.ok("batch", "-", "-y", input="DROP STATESTORE accounts.employees;")
    assert employees.ok("store", "describe", "accounts.employees").json["stage"] == "dropped"


@pytest.mark.spec("W-09")
def test_a_typed_command_gives_its_result_and_a_list_gives_a_list(employees: Dex) -> None:
    """In a list each command succeeds or fails alone, and the worst decides the exit code."""
    one = employees.ok("command", '{"command": "show_state_stores"}').json
    assert [store["name"] for store in one] == ["accounts.employees"]
    put = {"command": "put_row", "store": "accounts.employees", "key": "k", "named": {"passport": "P1"}}
    (employees.home / "c.json").write_text(json.dumps([put, {**put, "key": "l"}, {**put, "store": "nowhere"}]))
    done = employees("command", "@c.json")
    written, conflict, refused = done.json
    assert written["replaced"] is False
    assert (conflict["error"]["kind"], refused["error"]["kind"]) == ("conflict", "refused")
    assert done.code == 3


@pytest.mark.spec("X-03", "W-09")
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{", "not JSON"),
        ('{"command": "put_roww"}', "did you mean put_row?"),
        ('{"command": "drop_state_store", "store": "x"}', "drop_state_store has the fields name, if_exists?"),
        ('{"command": "put_row", "store": "s", "key": 1e400}', "not JSON"),
        ('{"command": "put_row", "store": "s", "key": "k", "named": {"n": NaN}}', "not JSON"),
        ("@missing.json", "cannot read missing.json"),
    ],
)
def test_a_wrong_typed_command_is_a_usage_error(dex: Dex, text: str, hint: str) -> None:
    """Broken JSON, unknown commands, numbers out of range and missing files are exit 2 (case 19)."""
    done = dex("command", text)
    assert (done.code, done.out) == (2, b"")
    assert hint in done.err


@pytest.mark.spec("W-09", "X-08")
def test_the_shape_of_typed_commands_is_told(dex: Dex) -> None:
    """All of them or one, as JSON Schema; without a command there is something to do about it."""
    assert dex.ok("command", "--schema", "put_row").json["$defs"]["PutRow"]["required"] == ["command", "store", "key"]
    assert len(dex.ok("command", "--schema").json["discriminator"]["mapping"]) > 30
    assert dex("command", "--schema", "put_rwo").err.endswith("did you mean put_row?\n")
    assert dex("command").code == 2
    assert not (dex.home / "data").exists()


@pytest.mark.spec("W-09", "X-08")
def test_the_worked_examples_are_commands() -> None:
    """Every JSON of the help can be read as it stands."""
    documents = re.findall(r"'(.*?)'", EXAMPLES, re.DOTALL)
    tags = {str(command.__struct_config__.tag) for text in documents for command in decode_commands(text)[0]}
    assert {"define_state_store", "put_row", "get_by", "append_records", "start_flow", "invoke_rpc"} <= tags


@pytest.mark.spec("W-04", "X-08")
@pytest.mark.parametrize("comment", ["-- a comment", "-- a comment\n", "--\tone\n-- two\n"])
def test_text_that_begins_with_a_comment_is_no_option(dex: Dex, comment: str) -> None:
    """Wherever it stands among the options; a payload that begins so is text too."""
    assert dex.ok("wcl", comment).out == b""
    done = dex.ok("wcl", f"{comment}\nSHOW FEEDS", "-o", "ndjson")
    assert [result["command"] for result in done.lines] == ["show_feeds"]
    dex.ok("store", "define", "s")
    dex.ok("store", "put", "s", "k", comment, "--mutation-id", "m")
    assert dex.ok("store", "get", "s", "k", "--raw").text == comment
    assert "no such option: --boo" in dex("wcl", "--boo").err


@pytest.mark.spec("X-03", "W-06")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SHOW FEEDS;\n  DESCRIBE FEED f", "line 2, column 3: statement 2 of 2: there is no feed 'f'"),
        ("SHOW FEEDS; DROP FEED f", "line 1, column 13: statement 2 of 2: DROP FEED f destroys"),
        ("DEFINE STATESTORE s\n  KEYS a, a", "line 2, column 11: named key 'a' is declared twice"),
        ("SHOW FEEDS;\nboo", "line 2, column 1: expected DEFINE"),
        ("DESCRIBE FEED f", "there is no feed 'f'"),
    ],
)
def test_an_error_in_longer_text_tells_its_place(dex: Dex, text: str, place: str) -> None:
    """Once; a single statement on one line needs none."""
    assert dex("wcl", text).err.startswith(f"error: {place}")


@pytest.mark.spec("W-09", "Y-25")
def test_sync_can_be_looked_at_with_typed_commands(dex: Dex) -> None:
    """As with `dex sync`; and their JSON Schema tells their fields."""
    commands = [{"command": "sync_backlog", "flow_id": "f"}, {"command": "sync_drops", "limit": 3}]
    backlog, drops = dex.ok("command", json.dumps(commands)).json
    assert (backlog["total"], drops) == (0, [])
    assert dex.ok("command", '{"command": "show_sync_totals"}').json["pending"] == 0
    properties = dex.ok("command", "--schema", "sync_backlog").json["$defs"]["SyncBacklog"]["properties"]
    assert {"store", "flow_id", "limit"} < properties.keys()
