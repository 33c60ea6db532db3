"""`dex flow`: Steps, waits, timers and time travel."""

import pytest

from tests.acceptance.conftest import Dex
from tests.cli.flow.conftest import run_id


def steps(dex: Dex) -> dict[str, str]:
    return {step["step_execution_id"]: step["status"] for step in dex.ok("flow", "state", "t1").json["steps"]}


@pytest.mark.spec("FL-08")
def test_a_start_only_records_and_run_works(trip: Dex) -> None:
    """Nothing works the Step until `flow run` does; it ends when nothing is due, and the timer is left alone."""
    assert steps(trip) == {"Pack-1": "ready"}
    trip.ok("flow", "run", "--until-idle")
    assert steps(trip) == {"Pack-1": "waiting"}
    trip.ok("flow", "publish", "t1", "News", '{"tripId": "y", "days": 7}')
    done = trip.ok("flow", "run", "--until-idle")
    assert (done.out, done.err) == (b"", "working TripFlow\n")
    ended = trip.ok("flow", "wait", "t1").json
    assert (ended["status"], ended["output"], ended["error"]) == ("completed", 7, None)
    assert trip.ok("flow", "get", "t1").json["attributes"] == {"Count": 7}


@pytest.mark.spec("FL-08", "FL-10")
def test_waits_work_the_steps_and_are_bounded(trip: Dex) -> None:
    waited = trip("flow", "wait", "t1", "--wait", "300ms", "-o", "json")
    assert (waited.code, waited.out, waited.error["kind"]) == (4, b"", "unavailable")
    assert steps(trip) == {"Pack-1": "waiting"}
    trip.ok("flow", "publish", "t1", "News", '{"tripId": "y", "days": 7}')
    assert trip.ok("flow", "wait-attribute", "t1", "Count", ":=7").json == {"name": "Count", "value": 7}
    assert trip.ok("flow", "wait-step", "t1", "Pack").json["status"] == "completed"
    assert trip.ok("flow", "wait-step", "t1", "Leave-1").json["step_execution_id"] == "Leave-1"
    assert trip.ok("flow", "wait", "t1").json["status"] == "completed"
    assert trip("flow", "wait", "t1", "--wait", "soon").code == 2


@pytest.mark.spec("FL-08")
def test_a_timer_is_skipped_by_its_name(trip: Dex) -> None:
    trip.ok("flow", "run", "--until-idle")
    assert "1 timer" in trip("flow", "skip-timer", "t1", "Pack-1", "later").err
    trip.ok("flow", "skip-timer", "t1", "Pack-1", "late")
    ended = trip.ok("flow", "wait", "t1").json
    assert (ended["status"], "nobody came" in ended["error"]) == ("failed", True)


@pytest.mark.spec("FL-01", "FL-08")
def test_the_timeout_of_a_flow_is_not_that_of_the_command(trip: Dex) -> None:
    """`--timeout` of start is the Flow's; the environment bounds the command."""
    trip.environ["DEX_TIMEOUT"] = "1m"
    trip.ok("flow", "start", "TripFlow", "t2", "--input", '{"tripId": "x"}', "--timeout", "300ms")
    assert trip.ok("flow", "describe", "t2").json["timeout_policy"] == "fail"
    assert trip.ok("flow", "wait", "t2").json["status"] == "failed"
    policy = ["--timeout", "100ms", "--timeout-policy", "cancel"]
    trip.ok("flow", "start", "TripFlow", "t3", "--input", '{"tripId": "x"}', *policy)
    assert trip.ok("flow", "wait", "t3").json["status"] == "canceled"


@pytest.mark.spec("FL-13", "FL-11", "X-07")
def test_time_travel_goes_on_from_each_kind_of_place(trip: Dex) -> None:
    """Every place makes a new run with the state of then; the exact run id and --yes are needed."""
    trip.ok("flow", "publish", "t1", "News", '{"tripId": "y", "days": 7}')
    trip.ok("flow", "wait", "t1")
    first = run_id(trip)
    events = trip.ok("flow", "history", "t1").json["events"]
    travel = ["flow", "time-travel", "t1", "--run-id", first, "--reason", "again"]
    assert trip(*travel, "--to", "beginning").code == 1
    assert trip(*travel, "--to", "event:99", "--yes").code == 1
    assert trip(*travel, "--to", "step:Nowhere", "--yes").code == 1
    assert run_id(trip) == first
    places = ["beginning", "event:1", f"time:{events[0]['at']}", "step:Leave", "step-execution:Leave-1"]
    for place in places:
        new = trip.ok(*travel, "--to", place, "--yes").json["run_id"]
        described = trip.ok("flow", "describe", "t1").json
        assert (described["run_id"], described["previous_run_id"], described["status"]) == (new, first, "running")
        expected = "Leave" if "Leave" in place else "Pack"
        assert [step["type"] for step in trip.ok("flow", "state", "t1").json["steps"]] == [expected]
        assert trip.ok("flow", "get", "t1").json["attributes"] == {}
        assert trip(*travel, "--to", "beginning", "--yes").code == 3
        if place != places[-1]:
            trip.ok("flow", "stop", "t1", "--run-id", new, "--yes")
    assert trip.ok("flow", "wait", "t1").json["output"] == 7
