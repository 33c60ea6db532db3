"""`dex flow`: Steps, waits, timers and time travel."""

import threading

import pytest

from tests.acceptance.conftest import Dex
from tests.cli.flow.conftest import InsideDex, run_id


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


@pytest.mark.spec("FL-10", "X-04")
@pytest.mark.parametrize(
    "command", [["wait", "t1"], ["wait-step", "t1", "Pack"], ["wait-attribute", "t1", "Count", ":=9"]]
)
def test_a_wait_that_runs_out_of_time_is_safe_to_repeat(trip: Dex, command: list[str]) -> None:
    """What the Steps wrote that it worked is no write of its own."""
    waited = trip("flow", *command, "--timeout", "500ms")
    assert (waited.code, waited.err) == (4, "error: timed out after 500ms; raise --timeout, or try again\n")


@pytest.mark.spec("FL-10")
def test_a_wait_for_a_flow_that_this_process_does_not_know_says_so(trip: Dex) -> None:
    """Nothing works its Steps here; once it is closed, or with --quiet, there is nothing to say."""
    trip.environ["DEX_FLOWS"] = ""
    note = "this process does not know Flow type TripFlow and works none of its Steps; name it by --flows\n"
    for command in (["wait", "t1"], ["wait-step", "t1", "Pack"]):
        waited = trip("flow", *command, "--wait", "1ms")
        assert (waited.code, waited.err.startswith(note), waited.err.count(note)) == (4, True, 1)
        assert note not in trip("-q", "flow", *command, "--wait", "1ms").err
    trip.ok("flow", "stop", "t1", "--run-id", run_id(trip), "--yes")
    assert trip.ok("flow", "wait", "t1").err == ""


@pytest.mark.spec("FL-08", "FL-10")
def test_a_wait_ends_beside_a_handler_that_hangs(dex: InsideDex, monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler is left to be run again, and who hangs is told."""
    monkeypatch.setattr("dex.engine.flows.runtime.worker._GRACE_SECONDS", 0.0)
    monkeypatch.setattr("dex.engine.flows.runtime.worker._TOLD_SECONDS", 0.0)
    (dex.home / "hang.py").write_text(HANG)
    dex.environ["DEX_FLOWS"] = "hang.py"
    dex.ok("flow", "start", "Hanging", "h")
    waited = dex("flow", "wait", "h", "--wait", "500ms")
    told = "Step Hang-1 of Flow 'h' has been running for more than 0 s\n"
    assert (waited.code, waited.err.startswith(told), waited.err.count(told)) == (4, True, 1)
    (state,) = dex.ok("flow", "state", "h").json["steps"]
    assert (state["attempt"], state["running_since"]) == (1, None)
    (dex.home / "go").touch()
    for thread in threading.enumerate():
        if thread.name == "dex-step":
            thread.join(20)
    assert dex.ok("flow", "wait", "h").json["output"] == 1


HANG = """
import pathlib, threading
from dex import Flow, Step, StepList, graceful_complete
GO = pathlib.Path(__file__).with_name("go")
class Hang(Step[None]):
    def execute(self, context, input):
        while not GO.exists():
            threading.Event().wait(0.01)
        return graceful_complete(context.attempt)
class Hanging(Flow[None]):
    def get_steps(self):
        return StepList.start_step(Hang)
"""


@pytest.mark.spec("FL-08")
def test_a_timer_is_skipped_by_its_name(trip: Dex) -> None:
    trip.ok("flow", "run", "--until-idle")
    assert "its timers are late; name one" in trip("flow", "skip-timer", "t1", "Pack-1", "later").err
    assert "did not close within 10ms" in trip("flow", "wait", "t1", "--wait", "10ms").err
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
