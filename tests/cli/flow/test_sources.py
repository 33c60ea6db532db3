"""Where Flow types come from, and what becomes of a source that does not load (spec: FL-17)."""

import json

import pytest

from tests.acceptance.conftest import Dex
from tests.cli.flow.definitions import TRIP

SUB = "ChunkedSubscriberFlow"


@pytest.mark.spec("FL-17")
def test_types_come_from_files_modules_and_the_configuration(dex: Dex) -> None:
    """The two patterns are always there; flag, environment and file name further ones; several add up."""

    def types(*args: str) -> set[str]:
        return {row["type"] for row in dex.ok("flow", "types", *args).json}

    builtin = {SUB, "CustomerDirectoryFlow"}
    (dex.home / "trip.py").write_text(TRIP)
    (dex.home / "other.py").write_text(
        "from dex import Flow\nclass Other(Flow[None]): pass\nclass More(Flow[None]): pass\n"
    )
    assert types() == builtin
    assert types("--flows", "trip.py", "--flows", "other:More") == {*builtin, "TripFlow", "More"}
    assert types("--flows", str(dex.home / "other.py")) == {*builtin, "Other", "More"}
    config = dex.home / "config" / "dex" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("flows:\n  - trip.py\n  - other\n")
    assert types() == {*builtin, "TripFlow", "Other", "More"}
    dex.environ["DEX_FLOWS"] = "trip.py"
    assert types() == {*builtin, "TripFlow"}
    row = next(row for row in dex.ok("config", "show").json if row["setting"] == "flows")
    assert (row["value"], row["origin"]) == (["trip.py"], "environment DEX_FLOWS")
    described = next(row for row in dex.ok("flow", "types").json if row["type"] == "TripFlow")
    assert described["steps"] == ["Leave", "Pack"]
    assert described["rpcs"] == ["add", "note", "nothing", "wrong"]
    assert "Notes/*" in described["attributes"]


@pytest.mark.spec("FL-17", "X-02")
@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("from dex import Flow\n\nclass Broken(Flow[None])\n", 3, "expected ':'"),
        ("import nothing_like_it\n", 1, "ModuleNotFoundError"),
        ("from dex import Flow\nx = 1 / 0\n", 2, "ZeroDivisionError"),
        (
            "class Mute(Exception):\n    def __str__(self):\n        return self.text\n\nraise Mute\n",
            5,
            "Mute: its text",
        ),
    ],
)
def test_a_file_that_does_not_import_takes_nothing_else_down(dex: Dex, text: str, line: int, problem: str) -> None:
    """One warning line with file and line; the other file's Flows and the built-in ones work."""
    (dex.home / "trip.py").write_text(TRIP)
    (dex.home / "bad.py").write_text(text)
    done = dex.ok("flow", "types", "--flows", "bad.py", "--flows", "trip.py")
    assert len(done.json) == 3
    assert done.err.startswith(f"warning: {dex.home}/bad.py, line {line}: ")
    assert (problem in done.err, done.err.count("\n")) == (True, 1)
    assert dex.ok("flow", "types", "--flows", "bad.py", "-q").err == ""
    assert "warning" in json.loads(dex.ok("flow", "types", "--flows", "bad.py", "-o", "json").err)
    missing = dex("flow", "start", "Broken", "x", "--flows", "bad.py", "-q")
    assert (missing.code, f"not loaded: {dex.home}/bad.py, line {line}" in missing.err) == (1, True)
    assert dex.ok("store", "list", "--flows", "bad.py").err == ""


@pytest.mark.spec("FL-17")
def test_a_module_of_the_working_directory_and_a_missing_source(dex: Dex) -> None:
    done = dex.ok("flow", "types", "--flows", "nowhere.py", "--flows", "no_module", "--flows", "no_module.inner:X")
    assert done.err.count("warning: ") == 3
    assert f"there is no file {dex.home}/nowhere.py" in done.err
    assert done.err.count("there is no module no_module") == 2
    assert "home.py is no file" in dex.ok("flow", "types", "--flows", _folder(dex, "home.py")).err
    (dex.home / "late.py").write_text("import no_module\n")
    assert f"{dex.home}/late.py, line 1" in dex.ok("flow", "types", "--flows", "late").err


LOUD = """
from dex import *

print("at import")

class Speak(Step[None]):
    def execute(self, context, input):
        print("in a Step")
        return graceful_complete("said")

class Loud(Flow[None]):
    def get_steps(self):
        return StepList.start_step(Speak)
    @rpc
    def speak(self, context) -> RPCResult[str]:
        print("in an RPC")
        return RPCResult("said")
"""


@pytest.mark.spec("FL-17", "X-02")
def test_what_flows_print_is_no_result(dex: Dex) -> None:
    """Standard output has the result alone, so that a program can read it."""
    (dex.home / "loud.py").write_text(LOUD)
    dex.environ["DEX_FLOWS"] = "loud.py"
    dex.ok("flow", "start", "Loud", "l", "--start-delay", "50ms")
    invoked = dex.ok("flow", "invoke", "l", "speak")
    sent = dex.ok("command", '{"command": "invoke_rpc", "flow_id": "l", "rpc": "speak"}')
    for done in (invoked, sent):
        assert (done.json["output"], "in an RPC\n" in done.err) == ("said", True)
    waited = dex.ok("flow", "wait", "l")
    assert (waited.json["output"], "in a Step\n" in waited.err) == ("said", True)


def _folder(dex: Dex, name: str) -> str:
    (dex.home / name).mkdir()
    return name


@pytest.mark.spec("FL-12")
def test_a_run_whose_type_is_not_loaded_is_shown_all_the_same(trip: Dex) -> None:
    """Describe, get, history and search need no definition."""
    trip.ok("flow", "set", "t1", "Count:=2")
    del trip.environ["DEX_FLOWS"]
    assert trip.ok("flow", "describe", "t1").json["type"] == "TripFlow"
    assert trip.ok("flow", "get", "t1").json["attributes"] == {"Count": 2}
    assert trip.ok("flow", "search", "--type", "TripFlow").json["flows"] != []
    assert "there is no Flow type TripFlow" in trip("flow", "set", "t1", "Count:=3").err
