"""Step executions: `ready` to run, or `waiting` for conditions, until an event ends them."""

import sqlite3
from collections.abc import Collection
from typing import Any

import msgspec

from dex.engine.apply import Apply
from dex.engine.clock import LATEST_MS
from dex.engine.flows.records import NewStep, StepEnd
from dex.engine.flows.state import channels, waits

_COLUMNS = (
    "run, type, number, status, input, attempt, first_attempt_at, due_at, wait, met, local, error, recovery_error,"
    " created_event, wait_event, met_event, ended_event"
)
# Without a hint SQLite takes the primary key, and reads all executions that a run ever had.
_OPEN = "steps INDEXED BY steps_open WHERE run = ? AND ended_event IS NULL"
_LONGEST_NUMBER = 18


class Step(msgspec.Struct):
    """A step execution as it is stored. `attempt` counts from 1 and is the one that is next or under way."""

    run: int
    type: str
    number: int
    status: str
    input: bytes
    attempt: int
    first_attempt_at: int | None
    due_at: int | None
    wait: bytes | None
    met: bytes | None
    local: bytes | None
    error: str | None
    recovery_error: str | None
    created_event: int
    wait_event: int | None
    met_event: int | None
    ended_event: int | None

    @property
    def execution_id(self) -> str:
        """The id that people see: `StepType-N`."""
        return f"{self.type}-{self.number}"


def split_id(execution_id: str) -> tuple[str, int] | None:
    """Give type and number of a step execution id, or None where it is not one."""
    type_, dash, number = execution_id.rpartition("-")
    if not dash or not number.isascii() or not number.isdigit() or len(number) > _LONGEST_NUMBER:
        return None
    return type_, int(number)


def add(apply: Apply, run: int, event: int, new: list[NewStep], due_at: int) -> list[str]:
    """Add steps that are ready at `due_at`, and give their execution ids."""
    added = []
    for step in new:
        query = "SELECT ifnull(max(number), 0) + 1 FROM steps WHERE run = ? AND type = ?"
        (number,) = apply.connection.execute(query, (run, step.type)).fetchone()
        apply.connection.execute(
            "INSERT INTO steps (run, type, number, status, input, attempt, due_at, recovery_error, created_event)"
            " VALUES (?, ?, ?, 'ready', ?, 1, ?, ?, ?)",
            (run, step.type, number, step.input, due_at, step.recovery_error, event),
        )
        added.append(f"{step.type}-{number}")
    return added


def get(connection: sqlite3.Connection, run: int, type_: str, number: int) -> Step | None:
    """Give a step execution."""
    found = _select(connection, "steps WHERE run = ? AND type = ? AND number = ?", (run, type_, number))
    return found[0] if found else None


def open_steps(connection: sqlite3.Connection, run: int) -> list[Step]:
    """Give the step executions of a run that are not over, in the order in which they were made."""
    return _select(connection, f"{_OPEN} ORDER BY created_event, type, number", (run,))


def open_at(connection: sqlite3.Connection, run: int, event: int) -> list[Step]:
    """Give the step executions that were not over right after an event, as they are now."""
    source = (
        "steps WHERE run = ?1 AND created_event <= ?2 AND (ended_event IS NULL OR ended_event > ?2)"
        " ORDER BY created_event, type, number"
    )
    return _select(connection, source, (run, event))


def insert(connection: sqlite3.Connection, step: Step) -> None:
    """Write a step execution as it is."""
    marks = ", ".join("?" * len(step.__struct_fields__))
    connection.execute(f"INSERT INTO steps ({_COLUMNS}) VALUES ({marks})", msgspec.structs.astuple(step))


def any_open(connection: sqlite3.Connection, run: int) -> bool:
    """Tell whether a run has step executions that are not over."""
    return connection.execute(f"SELECT 1 FROM {_OPEN} LIMIT 1", (run,)).fetchone() is not None


def due(connection: sqlite3.Connection, types: Collection[str], now_ms: int, limit: int) -> list[Step]:
    """Give step executions of these Flow types whose time has come, the longest overdue first."""
    condition = (
        "steps WHERE due_at <= ? AND due_at IS NOT NULL AND ended_event IS NULL"
        f" AND (SELECT r.type FROM runs r WHERE r.id = run) IN ({', '.join('?' * len(types))}) ORDER BY due_at LIMIT ?"
    )
    return _select(connection, condition, (now_ms, *types, limit))


def finish(apply: Apply, step: Step, event: int, end: StepEnd) -> None:
    """Write what became of an attempt."""
    first = end.began_at if step.first_attempt_at is None else step.first_attempt_at
    if end.outcome in ("completed", "failed"):
        _update(apply, step, "status = ?, ended_event = ?, due_at = NULL, error = ?, first_attempt_at = ?",
                end.outcome, event, end.error, first)  # fmt: skip
    elif end.outcome == "retry":
        _update(apply, step, "attempt = attempt + 1, due_at = ?, error = ?, local = ?, first_attempt_at = ?",
                min(apply.at + end.delay_ms, LATEST_MS), end.error, end.local, first)  # fmt: skip
    else:
        waiting = waits.begin(end.wait or b"", apply.at)
        _update(apply, step, "status = 'waiting', wait = ?, wait_event = ?, due_at = ?, error = NULL, attempt = 1,"
                " local = ?, first_attempt_at = NULL",
                waits.encode(waiting), event, waiting.next_timer(), end.local)  # fmt: skip


def end_all(connection: sqlite3.Connection, run: int, event: int) -> None:
    """End every step execution of a run: it is closing."""
    connection.execute(
        "UPDATE steps INDEXED BY steps_open SET status = 'canceled', ended_event = ?, due_at = NULL"
        " WHERE run = ? AND ended_event IS NULL",
        (event, run),
    )


def settle_waits(apply: Apply, run: int, event: int) -> list[str]:
    """Make those waiting steps ready whose conditions are met, the oldest first, and give their execution ids."""
    return [step.execution_id for step in open_steps(apply.connection, run) if _settle(apply, step, event)]


def settle_wait(apply: Apply, run: int, event: int, type_: str, number: int) -> list[str]:
    """Do the same for one step execution only."""
    step = get(apply.connection, run, type_, number)
    return [step.execution_id] if step is not None and _settle(apply, step, event) else []


def _settle(apply: Apply, step: Step, event: int) -> bool:
    if step.status != "waiting" or step.wait is None:
        return False
    met = waits.judge(apply.connection, step.run, waits.decode(step.wait))
    if met is None:
        return False
    channels.consume(apply.connection, event, [id_ for ids in met.messages.values() for id_ in ids])
    _update(apply, step, "status = 'ready', met = ?, met_event = ?, due_at = ?", waits.encode(met), event, apply.at)
    return True


def fire(apply: Apply, step: Step, timers: list[int]) -> None:
    """Write that timers of a waiting step have fired, by their numbers."""
    waiting = waits.decode(step.wait or b"")
    for number in timers:
        waiting.fired[number] = True
    _update(apply, step, "wait = ?, due_at = ?", waits.encode(waiting), waiting.next_timer())


def _update(apply: Apply, step: Step, assignments: str, *values: Any) -> None:
    apply.connection.execute(
        f"UPDATE steps SET {assignments} WHERE run = ? AND type = ? AND number = ?",
        (*values, step.run, step.type, step.number),
    )


def _select(connection: sqlite3.Connection, source: str, parameters: tuple[Any, ...]) -> list[Step]:
    return [Step(*row) for row in connection.execute(f"SELECT {_COLUMNS} FROM {source}", parameters)]


def created_event(connection: sqlite3.Connection, run: int, type_: str, number: int | None) -> int | None:
    """Give the event that made a step execution, the first of its type where no number is given."""
    query = "SELECT min(created_event) FROM steps WHERE run = ?1 AND type = ?2 AND (?3 IS NULL OR number = ?3)"
    event: int | None = connection.execute(query, (run, type_, number)).fetchone()[0]
    return event
