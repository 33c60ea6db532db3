"""`dex flow` over processes: starts and calls that meet, and the template."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from dex import DexError
from dex.engine.flows.builtin import default_registry
from dex.engine.local import LocalEngine
from dex.wcl.commands.flowresults import FlowStarted
from dex.wcl.commands.flows import StartFlow
from dex.wcl.errors import FlowAlreadyStartedError
from tests.acceptance.conftest import Dex
from tests.cli.flow.conftest import learn_trip
from tests.directories import fast_directory

SUB = "ChunkedSubscriberFlow"


@pytest.fixture
def trip(dex: Dex) -> Dex:
    """`dex` that knows TripFlow, with the run `t1` of it."""
    learn_trip(dex)
    dex.ok("flow", "start", "TripFlow", "t1", "--input", '{"tripId": "x", "days": 3}')
    return dex


@pytest.mark.spec("FL-02")
def test_two_starts_at_once_make_one_run() -> None:
    """Case 32, fifty times: one run, and the other start is told by policy."""
    with fast_directory() as path:
        engine = LocalEngine(path, registry=default_registry)
        with ThreadPoolExecutor(2) as pool:
            for number in range(50):
                barrier = Barrier(2)
                command = StartFlow(type=SUB, flow_id=f"s{number}")
                outcomes = [one.result() for one in [pool.submit(_attempt, engine, command, barrier) for _ in range(2)]]
                assert sorted(type(outcome).__name__ for outcome in outcomes) == [
                    "FlowAlreadyStartedError",
                    "FlowStarted",
                ]
                started = next(one for one in outcomes if isinstance(one, FlowStarted))
                refused = next(one for one in outcomes if isinstance(one, FlowAlreadyStartedError))
                assert refused.run_id == started.run_id
        engine.close()


def _attempt(engine: LocalEngine, command: StartFlow, barrier: Barrier) -> FlowStarted | DexError:
    barrier.wait()
    try:
        return engine.execute(command)
    except DexError as error:
        return error


@pytest.mark.spec("FL-02")
def test_two_processes_that_start_at_once_make_one_run(dex: Dex) -> None:
    """Case 32 with processes."""
    started = [dex.start("flow", "start", SUB, "s") for _ in range(2)]
    for process in started:
        process.communicate(timeout=30)
    assert sorted(process.returncode for process in started) == [0, 3]
    assert len(dex.ok("flow", "search").json["flows"]) == 1


@pytest.mark.spec("FL-07")
def test_a_lock_of_another_process_is_a_conflict_that_retry_gets_over(trip: Dex) -> None:
    """Processes that add at once: each is applied or told; with --retry all are applied."""
    adding = ["flow", "invoke", "t1", "add", "--input", "1", "--retry", "50"]
    started = [trip.start(*adding) for _ in range(4)]
    for process in started:
        process.communicate(timeout=60)
    assert [process.returncode for process in started] == [0] * 4
    assert trip.ok("flow", "get", "t1", "Count").json["attributes"] == {"Count": 4}
    assert trip("flow", "invoke", "t1", "add", "--retry", "-1").code == 2


@pytest.mark.spec("FL-17", "FL-08")
def test_the_template_is_what_its_first_lines_say(dex: Dex) -> None:
    """The commands that samples/order_flow.py begins with run as they stand."""
    samples = Path(__file__).parents[2] / "samples"
    first_lines = (samples / "order_flow.py").read_text().split('"""')[1]
    script = "set -e\n" + "\n".join(line for line in first_lines.splitlines() if line.startswith("    "))
    (dex.home / "samples").symlink_to(samples)
    done = subprocess.run(
        ["bash", "-c", script], env=dex.environ, cwd=dex.home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["output"] == "o1"
