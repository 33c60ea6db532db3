"""What is wrong on a `dex flow` command line, told in one line."""

import pytest

from tests.acceptance.conftest import Dex


@pytest.mark.spec("FL-03", "FL-05", "X-03")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["start", "TripFlw", "x"], "there is no Flow type TripFlw; did you mean TripFlow?"),
        (["describe", "t11"], "there is no Flow 't11'; did you mean t1?"),
        (["invoke", "t1", "ad"], "has no RPC ad; did you mean add?"),
        (["get", "t1", "Cuont"], "Attribute Cuont is not declared; did you mean Count?"),
        (["get", "t1", "Notes"], "Notes is an AttributeMap; name an instance: Notes/INSTANCE"),
        (["set", "t1", "Cuont:=1"], "Attribute Cuont is not declared; did you mean Count?"),
        (["publish", "t1", "New", "1"], "Channel New is not declared; did you mean News?"),
        (["wait-step", "t1", "Pakc"], "has no Step Pakc; did you mean Pack?"),
        (["search", "--type", "TripFlw"], "there is no Flow type TripFlw; did you mean TripFlow?"),
        (
            ["start", "TripFlow", "x", "--input", '{"tripld": "1"}'],
            "unknown field tripld at $; did you mean tripId?",
        ),
        (["start", "TripFlow", "x", "--input", '{"tripId": 1}'], "$.tripId is int, and str is expected"),
        (["invoke", "t1", "add", "--input", '"2"'], "the value at $ is str, and int is expected"),
        (
            ["set", "t1", "Count=5"],
            "int is expected; write NAME=text, NAME=@FILE for bytes, and NAME:=JSON for all else",
        ),
        (["set", "t1", "Blob=AP8="], "Attribute Blob: the value at $ is not bytes; write NAME=@FILE for bytes"),
        (["set", "t1", "Count:=99999999999999999999"], "the value at $"),
        (["publish", "t1", "News", '{"tripId": "a", "days": true}'], "$.days is bool, and int is expected"),
        (["invoke", "t1", "nothing", "--input", "2"], "RPC nothing takes no input; call it without one"),
        (["invoke", "t1", "add"], "RPC add needs an input: int; give it one"),
        (["start", "TripFlow", "x"], "Flow TripFlow needs an input: Trip; give it one"),
        (["invoke", "t1", "add", "--input", "two"], "--input 'two' is not JSON"),
        (["invoke", "t1", "add", "--input", "two"], "'\"text\"'"),
        (["set", "t1", "Count:=NaN"], "is not JSON"),
        (["invoke", "t1", "add", "--input", "2", "--retry", "-1"], "--retry is -1, and 0 to 1000 is allowed"),
        (["invoke", "t1", "add", "--input", "2", "--retry", "1001"], "--retry is 1001, and 0 to 1000 is allowed"),
        (["wait", "t1", "--wait", "11m"], "--wait is 11m, and up to 10m is allowed"),
        (["set", "t1", "Count:=" + "[" * 20_000], f"the value in 'Count:={'[' * 53}…' is nested too deeply"),
        (["set", "t1", "Any:=" + "[" * 700 + "]" * 700], "the value at $ is nested more than 200 deep"),
        (["publish", "t1", "Inbox/a", "hello"], "the message 'hello' is not JSON"),
        (["stop", "t1", "--run-id", "x", "--type", "kill"], "use one of cancel, fail, terminate"),
        (["time-travel", "t1", "--run-id", "x", "--reason", "", "--to", "noon"], "beginning, event:N, time:T"),
        (["time-travel", "t1", "--run-id", "x", "--reason", "", "--to", "time:2026-03-01T09:00"], "has no zone"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(trip: Dex, args: list[str], said: str) -> None:
    done = trip("flow", *args)
    assert (done.code in (1, 2), done.out, done.err.count("\n")) == (True, b"", 1)
    assert said in done.err
