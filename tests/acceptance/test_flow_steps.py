"""`dex flow`: Steps, working and watching, over processes."""

import json
import signal
import subprocess

import pytest

from tests.acceptance.conftest import Dex
from tests.cli.flow.conftest import learn_trip
from tests.cli.flow.test_steps import HANG


@pytest.fixture
def trip(dex: Dex) -> Dex:
    """`dex` that knows TripFlow, with the run `t1` of it."""
    learn_trip(dex)
    dex.ok("flow", "start", "TripFlow", "t1", "--input", '{"tripId": "x", "days": 3}')
    return dex


def run_id(dex: Dex, flow_id: str = "t1") -> str:
    return str(dex.ok("flow", "describe", flow_id).json["run_id"])


def steps(dex: Dex) -> dict[str, str]:
    return {step["step_execution_id"]: step["status"] for step in dex.ok("flow", "state", "t1").json["steps"]}


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_run_works_until_it_is_told_to_end(trip: Dex, number: signal.Signals, code: int) -> None:
    """It picks up what other processes publish; SIGTERM is a clean end and Ctrl-C is told."""
    worker = trip.start("flow", "run")
    assert worker.stderr is not None
    assert worker.stderr.readline() == b"working TripFlow\n"
    trip.ok("flow", "publish", "t1", "News", '{"tripId": "y", "days": 7}')
    with trip.start("flow", "watch", "t1", "-o", "ndjson") as watching:
        watching.communicate(timeout=30)
    worker.send_signal(number)
    _, err = worker.communicate(timeout=30)
    assert (worker.returncode, err) == (code, b"cancelled\n" if code else b"")
    assert trip.ok("flow", "describe", "t1").json["status"] == "completed"


@pytest.mark.spec("FL-08")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_leaves_a_handler_that_hangs(dex: Dex, number: signal.Signals) -> None:
    """After the first one run says what it waits for; what it leaves is run again, as the same attempt."""
    (dex.home / "hang.py").write_text(HANG)
    dex.environ["DEX_FLOWS"] = "hang.py"
    dex.ok("flow", "start", "Hanging", "h")
    worker = dex.start("flow", "run")
    assert worker.stderr is not None
    assert worker.stderr.readline() == b"working Hanging\n"
    while dex.ok("flow", "state", "h").json["steps"][0]["running_since"] is None:
        pass
    worker.send_signal(number)
    assert worker.stderr.readline() == b"waiting for Step Hang-1 of Flow 'h'; Ctrl-C leaves it to be run again\n"
    worker.send_signal(number)
    _, err = worker.communicate(timeout=30)
    assert (worker.returncode, err) == (130, b"cancelled\n")
    (dex.home / "go").touch()
    assert dex.ok("flow", "wait", "h").json["output"] == 1


@pytest.mark.spec("FL-08")
def test_until_idle_ends_beside_another_process_that_works(trip: Dex) -> None:
    worker = trip.start("flow", "run")
    assert worker.stderr is not None
    worker.stderr.readline()
    trip.ok("flow", "run", "--until-idle")
    assert steps(trip) == {"Pack-1": "waiting"}
    worker.terminate()
    worker.communicate(timeout=30)


@pytest.mark.spec("FL-08")
def test_a_killed_worker_is_succeeded(trip: Dex) -> None:
    """kill -9 leaves nothing that keeps the next process from working."""
    worker = trip.start("flow", "run")
    assert worker.stderr is not None
    worker.stderr.readline()
    worker.kill()
    worker.communicate(timeout=30)
    trip.ok("flow", "publish", "t1", "News", '{"tripId": "y", "days": 7}')
    assert trip.ok("flow", "wait", "t1").json["output"] == 7


@pytest.mark.spec("FL-12")
def test_watch_follows_until_the_run_is_closed(trip: Dex) -> None:
    """Each event is written as it is committed; after the last one the command ends by itself."""
    watching = trip.start("flow", "watch", "t1")
    assert watching.stdout is not None
    assert json.loads(watching.stdout.readline())["kind"] == "started"
    trip.ok("flow", "set", "t1", "Count:=1")
    event = json.loads(watching.stdout.readline())
    assert (event["number"], event["kind"], event["attributes"]) == (2, "set_attributes", ["Count"])
    trip.ok("flow", "stop", "t1", "--run-id", run_id(trip), "--yes")
    out, err = watching.communicate(timeout=30)
    assert (json.loads(out)["number"], watching.returncode, err) == (3, 0, b"the run is canceled\n")
    lines = trip.ok("flow", "watch", "t1", "--after", "1", "-o", "table").text.splitlines()
    assert [line.split()[:1] + line.split()[2:3] for line in lines] == [["2", "set_attributes"], ["3", "stopped"]]
    assert trip.ok("flow", "history", "t1", "-o", "table").text.splitlines()[1:] == lines


@pytest.mark.spec("FL-12")
def test_watch_ends_at_ctrl_c(trip: Dex) -> None:
    watching = trip.start("flow", "watch", "t1")
    assert watching.stdout is not None
    watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=30)
    assert (watching.returncode, err) == (130, b"cancelled\n")


@pytest.mark.spec("FL-12", "X-02")
def test_events_reach_a_reader_that_leaves(trip: Dex) -> None:
    """`watch | head -1` writes no traceback."""
    script = "dex flow watch t1 | head -1"
    with subprocess.Popen(
        ["bash", "-c", script], env=trip.environ, cwd=trip.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as both:
        assert both.stdout is not None
        assert both.stdout.readline() != b""
        trip.ok("flow", "stop", "t1", "--run-id", run_id(trip), "--yes")
        assert both.wait(timeout=30) == 0
        assert both.stderr is not None
        assert b"Traceback" not in both.stderr.read()
