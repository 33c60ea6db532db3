"""Random histories of Flows against the model; each ends by replaying its journal into an empty file.

DEX_CHAOS_ROUNDS makes them ten times as many as it says.
"""

import os
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dex import IdReusePolicy, StartFlowOptions, StopFlowOptions, StopType, TimeTravelOptions
from dex.engine.housekeeping import Retention
from dex.engine.local import LocalEngine
from dex.engine.replay import replay
from dex.wcl.commands.flows import DeleteMessages, GetFlowState, ListMessages, PurgeFlow
from dex.wcl.errors import (
    DexError,
    FailedPrecondition,
    FlowAlreadyStartedError,
    FlowNotActiveOrNotFoundError,
    FlowNotFoundError,
    WorkerInvocationError,
)
from tests.directories import fast_directory
from tests.engine.fakes import FakeClock
from tests.engine.flows.runtime.conftest import still
from tests.engine.flows.runtime.desk import IN, Item
from tests.engine.flows.runtime.model import FAILED, HARD, MINUTE, Run, adding
from tests.engine.state import state_of

_EVERYTHING = Retention(max_bytes=2**60, max_age_ms=2**60)
flow_ids = st.sampled_from(["a", "a", "a", "b"])
picks = st.integers(0, 1000)
calls = st.sampled_from(["call", "lock_n", "transact"])
written = st.dictionaries(
    st.sampled_from(["N", "Secret", "Notes/n", "Items/x"]), st.sampled_from([None, None, 1]), min_size=1, max_size=3
)
VALUES = {"N": 40, "Secret": "s", "Notes/n": "n", "Items/x": Item("set")}
STATUS = {"cancel": "canceled", "fail": "failed", "terminate": "terminated"}


class Histories(RuleBasedStateMachine):
    """One engine and its model; whatever is asked of both, they tell the same."""

    @initialize()
    def begin(self) -> None:
        self.stack = ExitStack()
        self.directory = self.stack.enter_context(fast_directory())
        self.clock = FakeClock()
        self.flow = adding()
        self.runs: list[Run] = []
        self.made = 0
        self.open()
        self.start("a", "end", IdReusePolicy.DEFAULT)

    def open(self) -> None:
        engine = LocalEngine(self.directory / "data", clock=self.clock, retention=_EVERYTHING)
        self.client = still(engine)
        self.client.register(self.flow)

    def latest(self, flow_id: str) -> Run | None:
        return max((run for run in self.runs if run.flow_id == flow_id), key=lambda run: run.order, default=None)

    def expect(self, run: Run | None, call, *refused: type[DexError]) -> bool:
        """Make a call that needs a running run; tell whether it was accepted."""
        if run is None:
            refused = (FlowNotFoundError,)
        elif not run.running:
            refused = (FlowNotActiveOrNotFoundError,)
        if refused:
            with pytest.raises(refused):
                call()
            return False
        call()
        return True

    @rule(flow_id=flow_ids, input=st.sampled_from(["again", "end", "end"]), policy=st.sampled_from(IdReusePolicy))
    def start(self, flow_id, input, policy) -> None:
        old = self.latest(flow_id)
        running = old is not None and old.running
        options = StartFlowOptions(id_reuse_policy=policy)
        refused = old is not None and {
            "disallow": True,
            "allow_if_previous_failed": old.status not in FAILED,
            "allow_terminate_if_running": False,
        }.get(policy, running)
        if refused:
            with pytest.raises(FlowAlreadyStartedError):
                self.client.start_flow(self.flow, flow_id, input, options)
            return
        run_id = self.client.start_flow(self.flow, flow_id, input, options)
        if running:
            old.close("terminated")
            old.commit()
        self.add(Run(self.made, flow_id, run_id))
        self.runs[-1].start_step("Wait", input, self.clock.ms)
        self.runs[-1].commit()

    def add(self, run: Run) -> None:
        self.made += 1
        self.runs.append(run)

    @rule(
        flow_id=flow_ids,
        name=st.sampled_from(sorted(adding().does)),
        rpc=st.sampled_from(["call", "lock_n", "transact"]),
    )
    def invoke(self, flow_id, name, rpc) -> None:
        run = self.latest(flow_id)
        refused = [WorkerInvocationError] if name == "fail" else []
        bound = getattr(self.flow, rpc)
        if not self.expect(run, lambda: self.client.invoke_rpc(bound, flow_id, name), *refused):
            return
        now = self.clock.ms
        match name.split():
            case ["one"]:
                run.write({"N": run.attributes.get("N", 0) + 1})
            case ["put"]:
                run.write({"Items/x": Item("put")})
            case ["drop"]:
                run.write({"Items/x": None})
            case ["publish"]:
                run.publish([3], now)
            case ["wait"]:
                run.start_step("Wait", "end", now)
            case [_, number]:
                run.start_step("Add", int(number), now)
        run.commit()

    @rule(flow_id=flow_ids, keys=written)
    def set_attributes(self, flow_id, keys) -> None:
        run = self.latest(flow_id)
        attributes = {key: value and VALUES[key] for key, value in keys.items()}
        erasable = run is not None and all(
            value is None and key.startswith(HARD) and key in run.attributes for key, value in attributes.items()
        )
        if run is not None and not run.running and erasable:
            self.client.set_attributes(flow_id, attributes)
            run.erased |= set(attributes)
        elif not self.expect(run, lambda: self.client.set_attributes(flow_id, attributes)):
            return
        run.write(attributes)
        run.commit()

    @rule(flow_id=flow_ids, messages=st.lists(st.integers(0, 9), min_size=1, max_size=3))
    def publish(self, flow_id, messages) -> None:
        run = self.latest(flow_id)
        if self.expect(run, lambda: self.client.publish(IN, flow_id, *messages)):
            run.publish(messages, self.clock.ms)
            run.commit()

    @rule(flow_id=flow_ids)
    def delete_the_oldest_message(self, flow_id) -> None:
        run = self.latest(flow_id)
        if run is None or not run.running or not run.messages:
            return
        (oldest,) = self.client.execute(ListMessages(flow_id=flow_id, channel="In", limit=1)).messages
        self.client.execute(DeleteMessages(flow_id=flow_id, channel="In", message_ids=[oldest.id]))
        del run.messages[0]
        run.commit()

    @rule(count=st.sampled_from([1, 2, 100]))
    def work(self, count) -> None:
        """Do what is due, one thing after the other, in the order in which the worker would begin it."""
        for _ in range(count):
            due = self.client.engine.flows.worker._due(frozenset())
            expected = sorted(
                (step.due, run.order, step.type, step.number, run, step)
                for run in self.runs
                for step in run.steps
                if step.due is not None and step.due <= self.clock.ms
            )
            assert [key[1:] for key in due] == [(type_, number) for _, _, type_, number, *_ in expected]
            if not due:
                return
            next(iter(due.values())).do()
            run, step = expected[0][-2:]
            run.work(step, self.clock.ms)

    @rule(ms=st.sampled_from([1, MINUTE // 2, MINUTE]))
    def move_the_clock(self, ms) -> None:
        self.clock.advance(ms)

    @rule(ahead=st.integers(0, 2), messages=st.sampled_from([1, 2, 3]))
    def bring_a_step_on(self, ahead, messages) -> None:
        """Have more happen between the ends of runs, and stop in between."""
        self.work(ahead)
        self.publish("a", [messages] * messages)
        self.work(ahead)

    @rule(flow_id=flow_ids, kind=st.sampled_from(StopType), seldom=st.integers(0, 3))
    def stop(self, flow_id, kind, seldom) -> None:
        run = self.latest(flow_id)
        if seldom and run is not None and run.running:
            return
        if self.expect(run, lambda: self.client.stop_flow(flow_id, StopFlowOptions(kind))):
            run.close(STATUS[kind])
            run.commit()

    @rule(pick=st.integers(0, 2), back=st.integers(0, 6))
    def travel(self, pick, back) -> None:
        """Mostly to a moment not long ago, when steps were under way."""
        if not self.runs:
            return
        run = self.runs[-1 - pick % len(self.runs)]
        event = max(len(run.past) - back, 1)
        latest = self.latest(run.flow_id)
        options = TimeTravelOptions.to_event(event, "model", run.run_id)
        if (latest is not run and latest.running) or run.erased & set(run.past[event - 1].attributes):
            with pytest.raises(FailedPrecondition):
                self.client.time_travel(run.flow_id, options)
            return
        run_id = self.client.time_travel(run.flow_id, options)
        new = run.travelled(event, self.made, run_id, self.clock.ms)
        if run.running:
            run.close("terminated")
            run.commit()
        self.add(new)

    @rule(pick=picks, seldom=st.integers(0, 3))
    def purge(self, pick, seldom) -> None:
        if not self.runs or seldom:
            return
        run = self.runs[pick % len(self.runs)]
        command = PurgeFlow(flow_id=run.flow_id, run_id=run.run_id)
        if run.running:
            with pytest.raises(FailedPrecondition):
                self.client.execute(command)
            return
        self.client.execute(command)
        self.runs.remove(run)

    @rule()
    def reopen(self) -> None:
        self.client.close()
        self.open()

    @invariant()
    def every_run_is_as_the_model_says(self) -> None:
        for run in self.runs:
            described = self.client.describe_flow(run.flow_id, run.run_id)
            told = (described.status, described.output, described.history_events, described.pending_steps)
            assert told == (run.status, run.output, len(run.past), len(run.steps))
            assert self.client.get_attributes(run.flow_id, run_id=run.run_id) == run.attributes
            state = self.client.execute(GetFlowState(flow_id=run.flow_id, run_id=run.run_id))
            assert state.channels == ({"In": len(run.messages)} if run.messages else {})
            assert [step.step_execution_id for step in state.steps] == [
                f"{step.type}-{step.number}"
                for step in sorted(run.steps, key=lambda step: (step.created, step.type, step.number))
            ]
        for flow_id in {run.flow_id for run in self.runs}:
            latest = self.latest(flow_id)
            assert self.client.describe_flow(flow_id).run_id == latest.run_id
            messages = self.client.execute(ListMessages(flow_id=flow_id, channel="In", limit=1000)).messages
            assert [message.value for message in messages] == latest.messages

    def teardown(self) -> None:
        try:
            self.client.engine.settle()
            self.client.close()
            path = self.client.engine.path
            replay(path, self.directory / "copy")
            copy = LocalEngine(self.directory / "copy", clock=self.clock, retention=_EVERYTHING)
            copy.settle()
            copy.close()
            assert state_of(copy.path) == state_of(path)
        finally:
            self.client.close()
            self.stack.close()


TestHistories = pytest.mark.spec(
    "FL-01", "FL-02", "FL-03", "FL-06", "FL-08", "FL-09", "FL-11", "FL-12", "FL-13", "FL-16"
)(Histories.TestCase)
TestHistories.settings = settings(
    max_examples=int(os.environ.get("DEX_CHAOS_ROUNDS", "4")) * 10,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
