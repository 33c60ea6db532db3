"""A destination without a database: it records what it is asked to write, and answers as a test says."""

from collections.abc import Callable
from typing import Any, NamedTuple

from dex.engine.flows.codec import decode
from dex.engine.sync.batch import Batch, Failure, FailureScope, Fence, Outcome, WriteResult


class Call(NamedTuple):
    """One write that was asked for."""

    batch: Batch
    fence: Fence
    limit: int | None

    @property
    def flow_id(self) -> str:
        return self.batch.flow_id

    @property
    def values(self) -> dict[str, Any]:
        return {key: None if data is None else decode(data) for key, data in self.batch.entries.items()}


class Scripted:
    """`answer` gives the result of each call; until it is set, everything is written."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.answer: Callable[[Call], WriteResult] = written
        self.rows: dict[str, dict[str, Any]] = {}

    def write(self, batch: Batch, fence: Fence, limit: int | None, may_start: Callable[[], bool]) -> WriteResult:
        if not may_start():
            return WriteResult(Outcome.NOT_STARTED, (), 0)
        call = Call(batch, fence, limit)
        self.calls.append(call)
        result = self.answer(call)
        if result.outcome is Outcome.WRITTEN:
            row = self.rows.setdefault(call.flow_id, {})
            row.update({key: value for key, value in call.values.items() if key in result.keys})
        return result

    def take(self) -> list[Call]:
        """Give the calls since this was asked last."""
        calls, self.calls = self.calls, []
        return calls


def statements(call: Call) -> list[tuple[str, ...]]:
    """Give what a transaction has within its limit: all plain Attributes are one statement, each instance is one."""
    plain = tuple(key for key in call.batch.entries if "/" not in key)
    instances = [(key,) for key in call.batch.entries if "/" in key]
    return ([plain] if plain else [])[: call.limit] + instances[
        : None if call.limit is None else call.limit - bool(plain)
    ]


def written(call: Call) -> WriteResult:
    done = statements(call)
    return WriteResult(Outcome.WRITTEN, tuple(key for each in done for key in each), len(done))


def failed(
    scope: FailureScope, *, retryable: bool = True, undecided: bool = False, reason: str = "no"
) -> Callable[[Call], WriteResult]:
    """Give an answer: the transaction failed."""

    def answer(call: Call) -> WriteResult:
        done = statements(call)
        keys = tuple(key for each in done for key in each)
        failure = Failure(scope, retryable=retryable, reason=reason, undecided=undecided)
        return WriteResult(Outcome.FAILED, keys, len(done), failure)

    return answer


def fenced(token: int) -> Callable[[Call], WriteResult]:
    """Give an answer: a token rejected the write, unless it has an epoch as high."""

    def answer(call: Call) -> WriteResult:
        if call.fence.epoch >= token:
            return written(call)
        return WriteResult(Outcome.FENCED, tuple(call.batch.entries), 1, token=token)

    return answer


def filtered(call: Call) -> WriteResult:
    """Every field of the batch was left out, and no SQL ran."""
    return WriteResult(Outcome.WRITTEN, tuple(call.batch.entries), 0)
