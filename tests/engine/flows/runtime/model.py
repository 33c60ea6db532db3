"""What a Flow is, as simply as it can be said: runs in memory, each with a copy of itself after every event.

The Flow adds numbers: its Steps `Wait` for two messages or a minute and then add them, or `Add` their input.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from dex import (
    RPCResult,
    StepMovement,
    Timer,
    Wait,
    dead_end,
    force_complete,
    force_complete_if_channels_empty,
    force_fail,
    go_to,
    graceful_complete,
)
from tests.engine.flows.runtime.desk import IN, ITEMS, Await, Desk, Do, Item, N, get

MINUTE = 60_000
HARD = ("Secret", "Notes/")
FAILED = ("failed", "canceled", "terminated")


def adding() -> Desk:
    """Give the Flow that the model tells of."""

    def add(context: Any, input: int) -> Any:
        N.set(context, get(context, N, 0) + input)
        match input:
            case 13:
                return force_complete("forced")
            case 7:
                return force_fail("bad")
            case 5:
                return force_complete_if_channels_empty("empty", StepMovement.of("Add", 1))
            case _:
                return dead_end()

    def taken(context: Any, input: str) -> Any:
        N.set(context, get(context, N, 0) + sum(IN.results(context)) + 100 * context.has_timer_fired())
        match input:
            case "again":
                return go_to("Wait", "stop")
            case "end":
                return graceful_complete(N.get(context))
            case _:
                return dead_end()

    wait = Wait.any_of(IN.for_n(2), Timer.by_duration(timedelta(milliseconds=MINUTE)))
    flow = Desk(Await("Wait", wait, taken), Do("Add", add))
    flow.does = {
        "one": lambda c: N.set(c, get(c, N, 0) + 1),
        "fail": lambda c: N.set(c, 99) or ITEMS.set(c, "x", Item("lost")) or IN.publish(c, 1) or 1 / 0,
        "put": lambda c: ITEMS.set(c, "x", Item("put")),
        "drop": lambda c: ITEMS.delete(c, "x"),
        "publish": lambda c: IN.publish(c, 3),
        "wait": lambda c: RPCResult(None, [StepMovement.of("Wait", "end")]),
        **{f"add {k}": lambda c, k=k: RPCResult(None, [StepMovement.of("Add", k)]) for k in (2, 5, 7, 13)},
    }
    return flow


@dataclass
class Step:
    """A step execution: `since` is when it began to wait, `taken` what its wait took, once it is over."""

    type: str
    number: int
    input: Any
    created: int
    due: int | None
    since: int | None = None
    taken: list[int] | None = None
    fired: bool = False


@dataclass
class Run:
    """A run and its past: `past[n - 1]` is what it held right after event n."""

    order: int
    flow_id: str
    run_id: str
    status: str = "running"
    output: Any = None
    attributes: dict[str, Any] = field(default_factory=dict)
    messages: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    highest: dict[str, int] = field(default_factory=dict)
    graceful: list[Any] = field(default_factory=list)
    erased: set[str] = field(default_factory=set)
    past: list["Run"] = field(default_factory=list)

    @property
    def running(self) -> bool:
        return self.status == "running"

    @property
    def event(self) -> int:
        """The number of the event that is being made."""
        return len(self.past) + 1

    def commit(self) -> None:
        past, self.past = self.past, []
        self.past = [*past, deepcopy(self)]

    def start_step(self, type_: str, input: Any, now: int) -> None:
        self.highest[type_] = self.highest.get(type_, 0) + 1
        self.steps.append(Step(type_, self.highest[type_], input, self.event, now))

    def write(self, attributes: dict[str, Any]) -> None:
        for key, value in attributes.items():
            if value is None:
                self.attributes.pop(key, None)
            else:
                self.attributes[key] = value

    def publish(self, messages: list[int], now: int) -> None:
        self.messages += messages
        for step in sorted(self.steps, key=lambda step: (step.created, step.type, step.number)):
            self.settle(step, now)

    def settle(self, step: Step, now: int) -> None:
        if step.since is not None and step.taken is None and (len(self.messages) >= 2 or step.fired):
            # The first condition that is met takes what it wants.
            count = 2 if len(self.messages) >= 2 else 0
            step.taken, self.messages = self.messages[:count], self.messages[count:]
            step.due = now

    def close(self, status: str, output: Any = None) -> None:
        self.status, self.output, self.steps = status, output, []

    def work(self, step: Step, now: int) -> None:
        """Do what is due of a step, in one commit."""
        if step.since is not None and step.taken is None:
            step.fired = True
            self.settle(step, now)
        elif step.type == "Wait" and step.since is None:
            step.since, step.due = now, now + MINUTE
            self.settle(step, now)
        else:
            self.steps.remove(step)
            self.execute(step, now)
        self.commit()

    def execute(self, step: Step, now: int) -> None:
        number = self.attributes.get("N", 0)
        self.attributes["N"] = number + (step.input if step.type == "Add" else sum(step.taken) + 100 * step.fired)
        match step.input:
            case 13:
                return self.close("completed", "forced")
            case 7:
                return self.close("failed")
            case 5 if not self.messages:
                return self.close("completed", "empty")
            case 5:
                self.start_step("Add", 1, now)
            case "again":
                self.start_step("Wait", "stop", now)
            case "end":
                self.graceful.append(self.attributes["N"])
        if self.graceful and not self.steps:
            self.close("completed", self.graceful[-1])
        return None

    def travelled(self, event: int, order: int, run_id: str, now: int) -> "Run":
        """Give the run that goes on after an event of this one."""
        then = deepcopy(self.past[event - 1])
        for step in then.steps:
            step.created = 1
            waits = step.since is not None and step.taken is None
            step.due = step.since + MINUTE if waits else now
        highest: dict[str, int] = {}
        for step in then.steps:
            highest[step.type] = max(highest.get(step.type, 0), step.number)
        new = Run(order, self.flow_id, run_id, attributes=then.attributes, messages=then.messages, steps=then.steps)
        new.highest, new.graceful = highest, then.graceful if then.steps else []
        new.commit()
        return new
