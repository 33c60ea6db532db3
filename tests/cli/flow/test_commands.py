"""`dex flow`: starting, calling, reading and stopping Flows."""

import json

import pytest

from tests.acceptance.conftest import Dex
from tests.cli.flow.conftest import run_id

SUB = "ChunkedSubscriberFlow"


@pytest.mark.spec("FL-01", "FL-12")
def test_a_flow_with_rpcs_only_runs_until_it_is_stopped(dex: Dex) -> None:
    """The engine makes the run id; there is no timeout; every commit is an event."""
    started = dex.ok("flow", "start", SUB, "s").json
    assert (started["flow_id"], started["started"], len(started["run_id"])) == ("s", True, 32)
    registration = '{"subscriberId": "a", "deliveryAddress": "b"}'
    answer = dex.ok("flow", "invoke", "s", "RegisterSubscriber", "--input", registration).json
    assert answer["output"] == {"sequence": 1, "subscriberId": "a", "deliveryAddress": "b"}
    described = dex.ok("flow", "describe", "s").json
    facts = ("type", "status", "timeout_at", "history_events", "attributes")
    assert [described[fact] for fact in facts] == [SUB, "running", None, 2, 2]
    events = dex.ok("flow", "history", "s").json["events"]
    assert [(event["number"], event["kind"]) for event in events] == [(1, "started"), (2, "rpc")]
    assert dex("flow", "wait", "s", "--wait", "100ms").code == 4


@pytest.mark.spec("FL-02")
def test_an_id_is_used_again_as_its_policy_says(dex: Dex) -> None:
    first = dex.ok("flow", "start", SUB, "s", "--request-id", "r1").json
    again = dex.ok("flow", "start", SUB, "s", "--request-id", "r1", "--ignore-already-started").json
    assert again == {**first, "started": False}
    taken = dex("flow", "start", SUB, "s", "-o", "json")
    assert (taken.code, taken.error["reason"], taken.error["run_id"]) == (3, "flow", first["run_id"])
    assert dex("flow", "start", SUB, "s", "--request-id", "r2", "--ignore-already-started").code == 3
    new = dex.ok("flow", "start", SUB, "s", "--id-reuse", "allow-terminate-if-running").json
    assert new["run_id"] != first["run_id"]
    assert dex.ok("flow", "describe", "s", "--run-id", first["run_id"]).json["status"] == "terminated"
    dex.ok("flow", "stop", "s", "--run-id", new["run_id"], "--yes")
    assert dex("flow", "start", SUB, "s", "--id-reuse", "disallow").code == 3
    assert dex.ok("flow", "start", SUB, "s", "--id-reuse", "allow_if_previous_failed").json["started"]
    nearest = dex("flow", "start", SUB, "s", "--id-reuse", "disalow")
    assert (nearest.code, "did you mean disallow?" in nearest.err) == (2, True)


@pytest.mark.spec("FL-03", "FL-10")
def test_attributes_of_every_type_go_in_and_come_back(trip: Dex) -> None:
    """Set in one commit, given back as they were, deleted by null."""
    (trip.home / "raw").write_bytes(b"\x00\xff")
    values = ["Count:=9007199254740993", "Ratio:=1.5", "When=2026-03-01T09:00:00Z", "Blob=@raw"]
    trip.ok("flow", "set", "t1", *values, 'Trip:={"tripId": "y"}', "Notes/a b=hello")
    assert trip.ok("flow", "get", "t1").json == {
        "attributes": {
            "Blob": {"bytes": "AP8="},
            "Count": 9007199254740993,
            "Notes/a b": "hello",
            "Ratio": 1.5,
            "Trip": {"tripId": "y", "days": 1},
            "When": "2026-03-01T09:00:00Z",
        }
    }
    trip.ok("flow", "set", "t1", "Ratio:=null", "Trip:=null")
    assert trip.ok("flow", "get", "t1", "Ratio", "Count").json["attributes"] == {"Count": 9007199254740993}


@pytest.mark.spec("FL-04")
def test_an_instance_is_named_as_it_is_or_escaped(trip: Dex) -> None:
    trip.ok("flow", "invoke", "t1", "note", "--input", '"by rpc"')
    for written in ("Notes/a/b", "Notes/a%2Fb"):
        assert trip.ok("flow", "get", "t1", written).json["attributes"] == {"Notes/a%2Fb": "by rpc"}
    trip.ok("flow", "set", "t1", "Notes/a/b=by hand")
    assert trip.ok("flow", "get", "t1").json["attributes"] == {"Notes/a%2Fb": "by hand"}


@pytest.mark.spec("FL-05", "FL-06", "FL-07")
def test_a_handler_that_fails_leaves_no_trace_and_no_lock(trip: Dex) -> None:
    """Case 34: the error says what was raised, the value is as before, the next call runs."""
    assert trip.ok("flow", "invoke", "t1", "add", "--input", "2").json["output"] == 2
    failed = trip("flow", "invoke", "t1", "add", "--input", "13")
    assert (failed.code, "raised ValueError: unlucky" in failed.err, failed.err.count("\n")) == (1, True, 1)
    assert "returned int" in trip("flow", "invoke", "t1", "wrong").err
    assert trip.ok("flow", "invoke", "t1", "add", "--input", "2", "--retry", "3").json["output"] == 4
    assert len(trip.ok("flow", "history", "t1").json["events"]) == 3


@pytest.mark.spec("FL-09")
def test_messages_are_published_listed_and_deleted(trip: Dex) -> None:
    published = trip.ok("flow", "publish", "t1", "Inbox/a/b", '"one"', '"two"').json
    assert trip.ok("flow", "state", "t1").json["channels"] == {"Inbox/a%2Fb": 2}
    messages = trip.ok("flow", "messages", "t1", "Inbox/a/b").json["messages"]
    assert [(one["id"], one["value"]) for one in messages] == list(
        zip(published["message_ids"], ["one", "two"], strict=True)
    )
    first, second = published["message_ids"]
    assert trip("flow", "delete-messages", "t1", "Inbox/a/b", second, "99").code == 1
    trip.ok("flow", "delete-messages", "t1", "Inbox/a/b", first)
    messages = trip.ok("flow", "messages", "t1", "Inbox/a%2Fb").json["messages"]
    assert [one["value"] for one in messages] == ["two"]


@pytest.mark.spec("FL-12")
def test_runs_are_found_by_type_status_and_attribute_page_by_page(trip: Dex) -> None:
    trip.ok("flow", "start", SUB, "s1")
    for number in (1, 2, 3):
        trip.ok(
            "flow", "start", "TripFlow", f"u{number}", "--input", '{"tripId":"u"}', "--attr", f"Count:={number % 2}"
        )
    trip.ok("flow", "stop", "u3", "--run-id", run_id(trip, "u3"), "--type", "fail", "--reason", "late", "--yes")

    def found(*args: str) -> list[str]:
        return [flow["flow_id"] for flow in trip.ok("flow", "search", *args).json["flows"]]

    assert found() == ["u3", "u2", "u1", "s1", "t1"]
    assert found("--type", SUB) == ["s1"]
    assert found("--status", "failed") == ["u3"]
    assert found("--type", "TripFlow", "--status", "running", "--attr", "Count:=1") == ["u1"]
    assert found("--attr", "Count=1") == []
    page = trip.ok("flow", "search", "--limit", "3").json
    rest = trip.ok("flow", "search", "--limit", "3", "--page-token", page["next_page_token"]).json
    assert [flow["flow_id"] for flow in rest["flows"]] == ["s1", "t1"]
    assert rest["next_page_token"] is None
    assert "cannot be searched" in trip("flow", "search", "--attr", 'Trip:={"tripId":"u"}').err
    table = trip.ok("flow", "search", "-o", "csv").text.splitlines()
    assert (table[0].split(",")[:3], len(table)) == (["flow_id", "run_id", "type"], 6)


@pytest.mark.spec("FL-12", "X-02")
def test_ndjson_has_one_event_or_run_a_line_and_a_note_of_what_follows(trip: Dex) -> None:
    trip.ok("flow", "start", SUB, "s1")
    trip.ok("flow", "set", "t1", "Count:=1")
    cases = [(["history", "t1"], "number", [1, 2], "--after"), (["search"], "flow_id", ["s1", "t1"], "--page-token")]
    for command, field, values, option in cases:
        all_ = trip.ok("flow", *command, "-o", "ndjson")
        assert ([json.loads(line)[field] for line in all_.text.splitlines()], all_.err) == (values, "")
        first = trip.ok("flow", *command, "--limit", "1", "-o", "ndjson")
        assert [json.loads(line)[field] for line in first.text.splitlines()] == values[:1]
        note, more = first.err.split(f"{option} ")
        assert note == "more follow: "
        rest = trip.ok("flow", *command, option, more.strip(), "-o", "ndjson")
        assert ([json.loads(line)[field] for line in rest.text.splitlines()], rest.err) == (values[1:], "")
    assert trip.ok("flow", "search", "--status", "failed", "-o", "ndjson").out == b""


@pytest.mark.spec("FL-11", "FL-16", "X-07")
def test_stop_needs_the_exact_run_and_consent(trip: Dex) -> None:
    """Without --run-id, with another run or without --yes nothing is done; a stopped run takes no calls."""
    run = run_id(trip)
    assert trip("flow", "stop", "t1", "--yes").code == 2
    assert trip("flow", "stop", "t1", "--run-id", run[:-1], "--yes").code == 1
    refused = trip("flow", "stop", "t1", "--run-id", run)
    assert (refused.code, "use --yes" in refused.err) == (1, True)
    assert trip("flow", "purge", "t1", "--run-id", run, "--yes").code != 0
    assert trip.ok("flow", "describe", "t1").json["status"] == "running"
    trip.ok("flow", "stop", "t1", "--run-id", run, "--type", "cancel", "--reason", "why", "--yes")
    ended = trip.ok("flow", "wait", "t1").json
    assert (ended["status"], "why" in ended["error"]) == ("canceled", True)
    for args in (("set", "t1", "Count:=1"), ("invoke", "t1", "add", "--input", "1"), ("publish", "t1", "News", "{}")):
        assert trip("flow", *args).code == 1
    trip.ok("flow", "purge", "t1", "--run-id", run, "--yes")
    assert trip("flow", "describe", "t1").code == 1


@pytest.mark.spec("FL-11", "X-07")
def test_typed_commands_that_end_a_run_need_consent_too(trip: Dex) -> None:
    command = json.dumps({"command": "stop_flow", "flow_id": "t1", "run_id": run_id(trip)})
    assert trip("command", command).code == 1
    trip.ok("command", command, "--yes")
    assert trip.ok("flow", "describe", "t1").json["status"] == "canceled"


@pytest.mark.spec("FL-12", "P-02")
def test_flows_work_from_a_batch_of_the_shell_too(trip: Dex) -> None:
    """A typed command in JSON reads what a command line wrote."""
    trip.ok("flow", "set", "t1", "Count:=2")
    got = trip.ok("command", '{"command": "get_attributes", "flow_id": "t1"}').json
    assert got == {"attributes": {"Count": 2}}
