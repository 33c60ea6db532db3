"""Steps and whole Flows of one Step, against DBOS on its SQLite: the same work, the same number of callers."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from dex.engine.client import Client, connect
from dex.engine.flows.context import Context
from dex.engine.flows.decision import StepDecision, go_to, graceful_complete
from dex.engine.flows.flow import Flow
from dex.engine.flows.step import Step, StepList
from tests.bench.harness import Goal, Line, Run, Skipped, interleave, seconds, speeds

_CALLERS = 8
_PATIENCE = timedelta(minutes=5)

Work = Callable[[int], int]


class CountDown(Step[int]):
    """One Step of a chain, the last of which ends the Flow."""

    def execute(self, context: Context, left: int) -> StepDecision:
        """Go on until nothing is left."""
        return go_to(CountDown, left - 1) if left > 1 else graceful_complete(left)


class BenchStepsFlow(Flow[int]):
    """As many Steps, one after the other, as it is started with."""

    def get_steps(self) -> StepList:
        """Start with the only one."""
        return StepList.start_step(CountDown)


def one_step_flows(run: Run) -> Iterator[Line]:
    """Start, execute and close Flows of one Step from 8 callers, each waiting for the end of one before the next."""
    count = run.size(200, 8)
    each = range(count)
    with connect(run.folder) as client, ThreadPoolExecutor(_CALLERS) as pool:

        def whole_one(flow_id: str) -> None:
            _whole(client, flow_id, 1)

        def ours(number: int) -> float:
            return _second_of_two(lambda turn: list(pool.map(whole_one, [f"one-{number}-{turn}-{n}" for n in each])))

        def reference(_number: int) -> float:
            with _dbos(run.folder) as workflow:
                return _second_of_two(lambda _: list(pool.map(workflow, [1] * count)))

        measured = interleave(ours, reference, run.pairs())
    yield speeds(f"Flows of one Step, DBOS, {_CALLERS} callers", count, measured, Goal("≥", 5))


def steps(run: Run) -> Iterator[Line]:
    """Execute Steps one after the other in one Flow, and in one workflow."""
    count = run.size(200, 8)

    def reference(_number: int) -> float:
        with _dbos(run.folder) as workflow:
            return _second_of_two(lambda _: workflow(count))

    with connect(run.folder) as client:
        measured = interleave(
            lambda number: _second_of_two(lambda turn: _whole(client, f"many-{number}-{turn}", count)),
            reference,
            run.pairs(),
        )
    yield speeds("Steps of one Flow, DBOS", count, measured, None)


def _second_of_two(work: Callable[[int], object]) -> float:
    """Do some work twice, and give the seconds of the second time: after the first both are as fast as they get."""
    work(1)
    return seconds(lambda: work(2))


def _whole(client: Client, flow_id: str, steps_: int) -> None:
    client.start_flow(BenchStepsFlow, flow_id, steps_)
    assert client.wait_for_flow(flow_id, _PATIENCE).status == "completed"


@contextmanager
def _dbos(folder: Path) -> Iterator[Work]:
    """Give a workflow of as many steps, one after the other, as its argument says.

    Its own threads work all the time, and are ended with it so that they take no part in what else is measured.

    Raises:
        Skipped: DBOS is not installed.
    """
    try:
        from dbos import DBOS
    except ImportError as error:
        raise Skipped(f"{error.name} is not installed; install dex with its extra `bench`") from error
    url = f"sqlite:///{folder / 'dbos.sqlite'}"
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR", "application_version": "1"})

    @DBOS.step()
    def step(left: int) -> int:
        return left - 1

    @DBOS.workflow()
    def workflow(left: int) -> int:
        while left:
            left = step(left)
        return left

    DBOS.launch()
    try:
        yield workflow
    finally:
        DBOS.destroy(destroy_registry=True)


BENCHES = {"one-step-flows": one_step_flows, "steps": steps}
