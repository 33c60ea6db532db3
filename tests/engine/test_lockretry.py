"""Trying again what lost a lock (spec: H-05)."""

import threading
from collections.abc import Callable

import pytest

import dex
from dex import Attribute, Context, Flow, PersistenceSchema, Refused, RPCLockConflict, RPCResult, StartFlowOptions, rpc
from dex.engine.lockretry import LockRetry


class Calls:
    """Loses the lock a number of times, then answers."""

    def __init__(self, losses: int, error: type[Exception] = RPCLockConflict) -> None:
        self.losses = losses
        self.error = error
        self.made = 0

    def __call__(self) -> str:
        self.made += 1
        if self.made <= self.losses:
            raise self.error("held")
        return "done"


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def retry(waits: list[float]) -> Callable[[int], LockRetry]:
    """A retry that waits as long as it may, in no time."""
    return lambda attempts: LockRetry(attempts, 0.004, 0.02, sleep=waits.append, jitter=lambda _low, high: high)


@pytest.mark.spec("H-05")
def test_waits_double_up_to_the_longest(retry: Callable[[int], LockRetry], waits: list[float]) -> None:
    calls = Calls(5)
    assert retry(10).run(calls) == "done"
    assert (calls.made, waits) == (6, [0.004, 0.008, 0.016, 0.02, 0.02])


@pytest.mark.spec("H-05")
def test_attempts_are_bounded(retry: Callable[[int], LockRetry], waits: list[float]) -> None:
    calls = Calls(100)
    with pytest.raises(RPCLockConflict):
        retry(4).run(calls)
    assert (calls.made, len(waits)) == (4, 3)
    assert sum(LockRetry()._longest_waits()) < 20


@pytest.mark.spec("H-05")
def test_nothing_but_a_lost_lock_is_tried_again(retry: Callable[[int], LockRetry], waits: list[float]) -> None:
    calls = Calls(1, Refused)
    with pytest.raises(Refused):
        retry(10).run(calls)
    assert (calls.made, waits) == (1, [])


@pytest.mark.spec("H-05")
def test_the_wait_is_random_from_zero_on() -> None:
    """Full jitter: callers that met once do not meet again."""
    waits: list[float] = []
    LockRetry(200, 1.0, 1.0, sleep=waits.append).run(Calls(150))
    assert min(waits) < 0.2
    assert max(waits) > 0.8
    assert max(waits) <= 1.0


N = Attribute("N", int)
OTHER = Attribute("Other", int)


class Counter(Flow[None]):
    """Two attributes, each raised by a locked RPC; `started` and `go_on` hold a call inside its handler."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.go_on = threading.Event()

    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(N, OTHER)

    @rpc(lock_attributes=(N,))
    def add(self, context: Context) -> RPCResult[int]:
        N.set(context, N.get(context) + 1)
        return RPCResult(N.get(context))

    @rpc(lock_attributes=(N,))
    def hold(self, context: Context) -> RPCResult[None]:
        self.started.set()
        assert self.go_on.wait(20)
        return RPCResult()

    @rpc(lock_attributes=(OTHER,))
    def other(self, context: Context) -> RPCResult[None]:
        OTHER.set(context, 1)
        return RPCResult()


@pytest.mark.spec("FL-07", "H-05")
def test_a_hundred_callers_of_one_lock(data_dir) -> None:  # type: ignore[no-untyped-def]  # a fixture
    """Case 33: without retry the accepted calls are the final value, with it all hundred are."""
    flow = Counter()
    with dex.connect(data_dir) as client:
        client.start_flow(flow, "c", None, StartFlowOptions().with_attribute(N, 0))
        client.register(flow)
        outcomes = _at_once(100, lambda: client.invoke_rpc(flow.add, "c"))
        accepted = [outcome for outcome in outcomes if isinstance(outcome, int)]
        assert {type(outcome) for outcome in outcomes} <= {int, RPCLockConflict}
        assert sorted(accepted) == list(range(1, len(accepted) + 1))
        assert client.get_attribute(N, "c") == len(accepted)
        client.set_attribute(N, "c", 0)
        retry = LockRetry()
        outcomes = _at_once(100, lambda: retry.run(lambda: client.invoke_rpc(flow.add, "c")))
        assert sorted(outcomes) == list(range(1, 101))
        assert client.get_attribute(N, "c") == 100


@pytest.mark.spec("FL-07")
def test_a_lock_refuses_its_own_callers_only(data_dir) -> None:  # type: ignore[no-untyped-def]  # a fixture
    """Case 33: a call that locks another attribute goes on while a lock is held; the loser is told at once."""
    flow = Counter()
    with dex.connect(data_dir) as client:
        client.start_flow(flow, "c", None, StartFlowOptions().with_attribute(N, 0))
        holder = threading.Thread(target=lambda: client.invoke_rpc(flow.hold, "c"))
        holder.start()
        assert flow.started.wait(20)
        with pytest.raises(RPCLockConflict):
            client.invoke_rpc(flow.add, "c")
        client.invoke_rpc(flow.other, "c")
        flow.go_on.set()
        holder.join()
        assert client.invoke_rpc(flow.add, "c") == 1


def _at_once(count: int, call: Callable[[], object]) -> list[object]:
    """Make a call in many threads that begin together, and give the results and errors."""
    barrier = threading.Barrier(count)
    outcomes: list[object] = []

    def work() -> None:
        barrier.wait()
        try:
            outcomes.append(call())
        except RPCLockConflict as error:
            outcomes.append(error)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes
