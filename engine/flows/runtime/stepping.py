"""One attempt of a step execution: its wait or its execute, and what becomes of a failure (spec: FL-08)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from dex.engine.flows.access import Access
from dex.engine.flows.context import Context
from dex.engine.flows.flowtype import FlowType
from dex.engine.flows.records import Close, CloseEnded, NewStep, RunCommitted, StepEnd, StepOutcome, TimersFired
from dex.engine.flows.retry import RetryPolicy, next_delay
from dex.engine.flows.runtime import effects
from dex.engine.flows.runtime.handlers import Call
from dex.engine.flows.runtime.loading import load
from dex.engine.flows.runtime.parts import Parts
from dex.engine.flows.state import runs, waits
from dex.engine.flows.state.runs import Run
from dex.engine.flows.state.steps import Step
from dex.engine.flows.step import WaitForFailure
from dex.engine.flows.steptype import StepType, missing
from dex.engine.flows.wait import Wait
from dex.wcl.errors import (
    ChannelMessageNotFoundError,
    DexError,
    Refused,
    RetryAfterError,
    Unavailable,
    WorkerInvocationError,
)


class Attempt:
    """One attempt of a step execution whose time has come, at `now_ms`; `is_stopping` tells of the worker's end."""

    def __init__(
        self, parts: Parts, run: Run, flow_type: FlowType, step: Step, *, now_ms: int, is_stopping: Callable[[], bool]
    ) -> None:
        self._parts = parts
        self._run = run
        self._flow_type = flow_type
        self._step = step
        self._began_at = now_ms
        self._is_stopping = is_stopping

    def run(self, *, lost: bool = False) -> None:
        """Fire timers, or run `wait_for` or `execute`, and commit what came of it.

        An attempt that is `lost` has been run, by a process that ended before it did: it has failed.

        Raises:
            DexError: the commit did not fit the state any more, a lock is held, or the worker is stopping; the attempt
                does not count.
        """
        if self._step.status == "waiting" and self._step.wait is not None:
            due = waits.decode(self._step.wait).due_timers(self._began_at)
            self._parts.commit(
                TimersFired(run_id=self._run.run_id, type=self._step.type, number=self._step.number, timers=due)
            )
            return
        step_type = self._flow_type.steps.get(self._step.type)
        if step_type is None:
            # Another version of the code has it: nothing is lost by waiting for that.
            error = missing(f"Flow {self._flow_type.name} has no Step", self._step.type, self._flow_type.steps)
            self._fail(error, RetryPolicy())
        elif step_type.waits and self._step.wait is None:
            self._wait_for(step_type, lost=lost)
        else:
            self._execute(step_type, lost=lost)

    def _wait_for(self, step_type: StepType, *, lost: bool) -> None:
        def fail(error: DexError) -> None:
            if step_type.options.wait_for_failure is WaitForFailure.PROCEED and self._delay(policy, error) is None:
                self._commit(self._end("waiting", wait=waits.encode(Wait()), error=storable(error)))
            else:
                self._fail(error, policy)

        policy = step_type.options.wait_for_retry
        if lost:
            fail(process_ended(f"{step_type.name}.wait_for"))
            return
        call = Call(f"{step_type.name}.wait_for", step_type.options.wait_for_method_timeout)
        with self._parts.locks.hold(self._run.flow_id, step_type.wait_for_access.locks):
            context, guard = self._context(step_type.wait_for_access, call)
            try:
                value = step_type.decode_input(self._step.input)
                wait = step_type.check_wait(call.run(step_type.step.wait_for, context, value))
                end = self._end("waiting", wait=waits.encode_wait(wait), local=_locals(context))
                fields = effects.of_workspace(context.workspace)
            except DexError as error:
                fail(error)
                return
            self._conclude(call, fail, end, guard=guard, **fields)

    def _execute(self, step_type: StepType, *, lost: bool) -> None:
        def fail(error: DexError) -> None:
            self._fail(error, step_type.options.execute_retry, step_type.options.execute_failure_step)

        if lost:
            fail(process_ended(f"{step_type.name}.execute"))
            return
        call = Call(f"{step_type.name}.execute", step_type.options.execute_method_timeout)
        with self._parts.locks.hold(self._run.flow_id, step_type.execute_access.locks):
            context, guard = self._context(step_type.execute_access, call)
            try:
                value = step_type.decode_input(self._step.input)
                decision = step_type.check_decision(call.run(step_type.step.execute, context, value))
                steps, close = effects.of_decision(self._flow_type, decision)
                fields = effects.of_workspace(context.workspace)
            except DexError as error:
                fail(error)
                return
            self._conclude(call, fail, self._end("completed"), guard=guard, steps=steps, close=close, **fields)

    def _context(self, access: Access, call: Call) -> tuple[Context, list[tuple[str, int]]]:
        step = self._step
        with self._parts.readers.brief() as snapshot:
            runs.active(snapshot.connection, self._run.run_id)
            loaded = load(snapshot.connection, self._run.id, self._flow_type, access, step)
        first_ms = self._began_at if step.first_attempt_at is None else step.first_attempt_at
        context = Context(
            loaded.workspace,
            flow_id=self._run.flow_id,
            run_id=self._run.run_id,
            step_execution_id=step.execution_id,
            attempt=step.attempt,
            first_attempt_at=datetime.fromtimestamp(first_ms / 1000, UTC),
            recovery_error=step.recovery_error,
            timers_fired=() if step.met is None else waits.decode_met(step.met).fired,
            cancellation_requested=lambda: self._is_unwanted(call),
        )
        return context, loaded.guard

    def _is_unwanted(self, call: Call) -> bool:
        """Tell whether the call is cancelled, which it is as soon as its run does not run or the worker stops."""
        if not call.cancelled.is_set():
            with self._parts.readers.brief() as snapshot:
                run = runs.by_run_id(snapshot.connection, self._run.run_id)
            if run is None or not run.running or run.closing is not None or self._is_stopping():
                call.cancelled.set()
        return call.cancelled.is_set()

    def _conclude(self, call: Call, fail: Callable[[DexError], None], end: StepEnd, **fields: Any) -> None:
        """Commit what the handler did; what it did wrong counts as its failure."""
        if call.cancelled.is_set():
            raise Unavailable("the handler was told to stop", "it is tried again if the Flow still runs")
        try:
            self._commit(end, **fields)
        except (ChannelMessageNotFoundError, Refused) as error:
            fail(error)

    def _fail(self, error: DexError, policy: RetryPolicy | None, follower: str | None = None) -> None:
        """Have the attempt tried again, or end the step: then the Flow fails or goes on with the follower."""
        self._parts.failures.note(f"Step {self._flow_type.name}.{self._step.type}", error)
        delay = self._delay(policy, error)
        if delay is not None:
            delay_ms = max(delay // timedelta(milliseconds=1), 0)
            self._commit(self._end("retry", error=storable(error), delay_ms=delay_ms, local=self._step.local))
            return
        end = self._end("failed", error=storable(error))
        if follower is not None:
            self._commit(end, steps=[NewStep(follower, self._step.input, end.error)])
        else:
            self._commit(end, close=Close("failed", error=f"step {self._step.execution_id} failed: {end.error}"))

    def _delay(self, policy: RetryPolicy | None, error: DexError) -> timedelta | None:
        if isinstance(error, RetryAfterError):
            delay: timedelta = error.delay
            return delay
        now_ms = max(self._parts.clock.now_ms(), self._began_at)
        first_ms = self._began_at if self._step.first_attempt_at is None else self._step.first_attempt_at
        elapsed = timedelta(milliseconds=now_ms - first_ms)
        return next_delay(policy or self._run.retry_policy or RetryPolicy(), self._step.attempt, elapsed)

    def _end(self, outcome: StepOutcome, **fields: Any) -> StepEnd:
        return StepEnd(self._step.type, self._step.number, self._step.attempt, outcome, self._began_at, **fields)

    def _commit(self, end: StepEnd, **fields: Any) -> None:
        detail = {**fields.pop("detail", {}), "step": self._step.execution_id, "outcome": end.outcome}
        if end.error is not None:
            detail["error"] = end.error
        commit_close(self._parts, RunCommitted(run_id=self._run.run_id, kind="step", step=end, detail=detail, **fields))


def commit_close(parts: Parts, record: RunCommitted) -> None:
    """Commit a record that may close its run: calls that are under way hold the close open (spec: FL-14).

    The end of any step may, since another one may have asked for a graceful close meanwhile.

    Raises:
        DexError: the commit did not fit the state any more.
    """
    if record.close is None and (record.step is None or record.step.outcome in ("retry", "waiting")):
        parts.commit(record)
        return
    with parts.locks.close(record.run_id) as held:
        parts.commit(msgspec.structs.replace(record, held=held))
    if held and not parts.locks.under_way(record.run_id):
        parts.commit(CloseEnded(run_id=record.run_id))


def process_ended(handler: str) -> WorkerInvocationError:
    """Give the error of a handler whose process ended before it did, be it by itself, a fault or a kill."""
    return WorkerInvocationError(
        f"the process that ran {handler} ended before it did",
        "see that the handler does not end its process, nor use more memory than there is",
        handler=handler,
    )


def storable(error: DexError) -> str:
    """Give an error as text that can be stored: file names in it may have lone surrogates."""
    return str(error).encode("utf-8", "backslashreplace").decode()


def _locals(context: Context) -> bytes | None:
    return msgspec.msgpack.encode(context.workspace.local_writes) if context.workspace.local_writes else None
