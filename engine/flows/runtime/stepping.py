"""One attempt of a step execution: its wait or its execute, and what becomes of a failure (spec: FL-08)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from dex.engine.flows.access import Access
from dex.engine.flows.context import Context
from dex.engine.flows.flowtype import FlowType
from dex.engine.flows.records import Close, CloseEnded, NewStep, RunCommitted, StepEnd, TimersFired
from dex.engine.flows.retry import RetryPolicy, next_delay
from dex.engine.flows.runtime import effects
from dex.engine.flows.runtime.handlers import Call
from dex.engine.flows.runtime.loading import load
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.state import runs, waits
from dex.engine.flows.state.runs import Run
from dex.engine.flows.state.steps import Step
from dex.engine.flows.step import WaitForFailure
from dex.engine.flows.steptype import StepType
from dex.engine.flows.wait import Wait
from dex.wcl.errors import DexError, RetryAfterError


class Attempt:
    """One attempt of a step execution whose time has come."""

    def __init__(self, parts: Parts, run: Run, flow_type: FlowType, step: Step) -> None:
        self._parts = parts
        self._run = run
        self._flow_type = flow_type
        self._step = step

    def run(self) -> None:
        """Fire timers, or run `wait_for` or `execute`, and commit what came of it.

        Raises:
            DexError: the commit did not fit the state any more, or a lock is held; the attempt does not count.
        """
        if self._step.status == "waiting" and self._step.wait is not None:
            due = waits.decode(self._step.wait).due_timers(self._parts.clock.now_ms())
            self._parts.commit(
                TimersFired(run_id=self._run.run_id, type=self._step.type, number=self._step.number, timers=due)
            )
            return
        try:
            step_type = self._flow_type.step(self._step.type)
        except DexError as error:
            self._fail(None, error)
            return
        if step_type.waits and self._step.wait is None:
            self._wait_for(step_type)
        else:
            self._execute(step_type)

    def _wait_for(self, step_type: StepType) -> None:
        options = step_type.options
        call = Call(f"{step_type.name}.wait_for", options.wait_for_method_timeout)
        with self._parts.locks.hold(self._run.flow_id, step_type.wait_for_access.locks):
            context, guard = self._context(step_type.wait_for_access, call)
            try:
                value = step_type.decode_input(self._step.input)
                wait = step_type.check_wait(call.run(step_type.step.wait_for, context, value))
            except DexError as error:
                if self._delay(options.wait_for_retry, error) is None:
                    if options.wait_for_failure is WaitForFailure.PROCEED:
                        self._commit(self._end("waiting", wait=waits.encode(Wait()), error=str(error)))
                        return
                    self._fail(None, error, policy=options.wait_for_retry)
                    return
                self._fail(step_type, error, policy=options.wait_for_retry)
                return
            end = self._end("waiting", wait=waits.encode(wait), local=_locals(context))
            self._commit(end, guard=guard, **effects.of_workspace(context.workspace))

    def _execute(self, step_type: StepType) -> None:
        call = Call(f"{step_type.name}.execute", step_type.options.execute_method_timeout)
        with self._parts.locks.hold(self._run.flow_id, step_type.execute_access.locks):
            context, guard = self._context(step_type.execute_access, call)
            try:
                value = step_type.decode_input(self._step.input)
                decision = step_type.check_decision(call.run(step_type.step.execute, context, value))
                steps, close = effects.of_decision(self._flow_type, decision)
            except DexError as error:
                self._fail(step_type, error, policy=step_type.options.execute_retry)
                return
            fields = effects.of_workspace(context.workspace)
            self._commit(self._end("completed"), guard=guard, steps=steps, close=close, **fields)

    def _context(self, access: Access, call: Call) -> tuple[Context, list[tuple[str, int]]]:
        step = self._step
        with self._parts.readers.snapshot() as snapshot:
            runs.active(snapshot.connection, self._run.run_id)
            loaded = load(snapshot.connection, self._run.id, self._flow_type, access, step)
        first_ms = step.first_attempt_at or self._parts.clock.now_ms()
        context = Context(
            loaded.workspace,
            flow_id=self._run.flow_id,
            run_id=self._run.run_id,
            step_execution_id=step.execution_id,
            attempt=step.attempt,
            first_attempt_at=datetime.fromtimestamp(first_ms / 1000, UTC),
            recovery_error=step.recovery_error,
            timers_fired=() if step.met is None else waits.decode_met(step.met).fired,
            cancellation_requested=call.cancelled.is_set,
        )
        return context, loaded.guard

    def _fail(self, step_type: StepType | None, error: DexError, policy: RetryPolicy | None = None) -> None:
        """Have the attempt tried again, or end the step: then the Flow fails or goes on with its recovery step."""
        delay = self._delay(policy, error) if step_type is not None else None
        if delay is not None:
            due_at = self._parts.clock.now_ms() + delay // timedelta(milliseconds=1)
            self._commit(self._end("retry", error=str(error), due_at=due_at, local=self._step.local))
            return
        follower = step_type.options.execute_failure_step if step_type is not None else None
        end = self._end("failed", error=str(error))
        if follower is not None:
            self._commit(end, steps=[NewStep(follower, self._step.input, str(error))])
        else:
            self._commit(end, close=Close("failed", error=f"step {self._step.execution_id} failed: {error}"))

    def _delay(self, policy: RetryPolicy | None, error: DexError) -> timedelta | None:
        if isinstance(error, RetryAfterError):
            delay: timedelta = error.delay
            return delay
        now_ms = self._parts.clock.now_ms()
        elapsed = timedelta(milliseconds=now_ms - (self._step.first_attempt_at or now_ms))
        return next_delay(policy or self._run.retry_policy or RetryPolicy(), self._step.attempt, elapsed)

    def _end(self, outcome: Any, **fields: Any) -> StepEnd:
        return StepEnd(self._step.type, self._step.number, self._step.attempt, outcome, **fields)

    def _commit(self, end: StepEnd, **fields: Any) -> None:
        detail = {**fields.pop("detail", {}), "step": self._step.execution_id, "outcome": end.outcome}
        if end.error is not None:
            detail["error"] = end.error
        record = RunCommitted(run_id=self._run.run_id, kind="step", step=end, detail=detail, **fields)
        commit_close(
            self._parts, self._run, record, may_close=record.close is not None or self._run.graceful is not None
        )


def commit_close(parts: Parts, run: Run, record: RunCommitted, *, may_close: bool) -> None:
    """Commit a record that may close its run: calls that are under way hold the close open (spec: FL-14).

    Raises:
        DexError: the commit did not fit the state any more.
    """
    if not may_close:
        parts.commit(record)
        return
    with parts.locks.close(run.run_id) as held:
        parts.commit(msgspec.structs.replace(record, held=held))
    if held and not parts.locks.under_way(run.run_id):
        parts.commit(CloseEnded(run_id=run.run_id))


def _locals(context: Context) -> bytes | None:
    return msgspec.msgpack.encode(context.workspace.local_writes) if context.workspace.local_writes else None
