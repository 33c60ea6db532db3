"""Three scopes of failures, what each makes wait and for how long, and when entries are given up."""

import pytest

from dex.engine.sync.batch import FailureScope
from tests.engine.sync.worker.conftest import EVERYWHERE
from tests.engine.sync.worker.scripted import failed, filtered, written

pytestmark = EVERYWHERE

STORE, RUN, TIMEOUT = FailureScope


def only(flow_ids, answer):
    """Give an answer for some Flows; all others are written."""
    return lambda call: answer(call) if call.flow_id in flow_ids else written(call)


def delays(clock, turn, attempts):
    """Let a write fail several times, and give how many ms lie between them."""
    found = []
    for _ in range(attempts):
        waited = 0
        while not turn():
            clock.advance(10)
            waited += 10
        found.append(waited)
    return found


@pytest.mark.spec("Y-19")
@pytest.mark.parametrize("scope", [RUN, STORE, TIMEOUT])
def test_the_delay_grows_by_the_coefficient_up_to_the_maximum(schedule, clock, scope):
    """After a commit it begins anew."""
    s = schedule(retry={"initial_interval": 0.02, "backoff_coefficient": 3.0, "maximum_interval": 0.25})
    s.start("a", {"Total": 1})
    s.destination.answer = failed(scope)
    assert delays(clock, s.turn, 6) == [0, 20, 60, 180, 250, 250]
    s.destination.answer = written
    assert delays(clock, s.turn, 1) == [250]
    s.client.set_attributes("a", {"Total": 2})
    s.destination.answer = failed(scope)
    assert delays(clock, s.turn, 2) == [0, 20]


@pytest.mark.spec("Y-19", "Y-26")
@pytest.mark.parametrize("scope", [RUN, STORE, TIMEOUT])
def test_a_clock_that_is_set_back_puts_no_try_off(schedule, clock, scope):
    s = schedule()
    s.start("a", {"Total": 1})
    s.destination.answer = failed(scope)
    s.turn_of("a")
    clock.set_back(3_600_000)
    s.destination.answer = written
    clock.advance(100)
    s.turn_of("a")


@pytest.mark.spec("Y-18", "Y-19")
def test_a_failure_of_the_store_that_others_do_not_meet_leaves_them_alone(schedule, clock):
    """As a right to a column that only one Flow writes: its delay grows, whatever the others write meanwhile."""
    s = schedule(retry={"initial_interval": 0.1})
    s.start("bad", {"Total": 1})
    s.start("good", {"Total": 1})
    s.destination.answer = only(["bad"], failed(STORE))
    tried = 0
    for number in range(100):
        s.client.set_attributes("good", {"Total": number})
        tried += sum(call.flow_id == "bad" for call in s.turn())
        clock.advance(100)
    assert 6 <= tried <= 8
    assert s.destination.rows["good"]["Total"] == 99


@pytest.mark.spec("Y-18", "Y-25")
def test_a_failure_of_a_run_backs_off_that_run_alone(schedule, clock):
    """Case 39: other Flows go on; the backlog tells attempts, the next try and the error."""
    s = schedule()
    for flow_id in "abc":
        s.start(flow_id, {"Total": 1})
    s.destination.answer = only("b", failed(RUN, reason="unique"))
    s.turn_of("a", "b", "c")
    s.client.set_attributes("a", {"Total": 2})
    s.turn_of("a")
    ((key, entry),) = s.pending().items()
    assert (key, entry.attempts, entry.last_error) == (("b", "Total"), 1, "unique")
    assert entry.next_attempt == "2023-11-14T22:13:20.100Z"
    clock.advance(100)
    s.turn_of("b")


@pytest.mark.spec("Y-18")
def test_a_failure_of_the_store_backs_off_all_its_runs(schedule, clock, caplog):
    """Those in line are not tried while it waits, and one failure that several threads meet is one; its end is told."""
    caplog.set_level("INFO", "dex.sync")
    s = schedule()
    for flow_id in "abc":
        s.start(flow_id, {"Total": 1})
    s.destination.answer = failed(STORE, reason="refused")
    s.turn_of("a")
    clock.advance(99)
    s.turn_of()
    assert {entry.last_error for entry in s.pending().values()} == {"refused"}
    assert {entry.next_attempt for entry in s.pending().values()} == {"2023-11-14T22:13:20.100Z"}
    s.destination.answer = written
    clock.advance(1)
    s.turn_of("b", "c")
    s.turn_of("a")
    assert s.pending() == {}
    assert caplog.messages.count("store orders: writes pass again") == 1


@pytest.mark.spec("Y-18")
def test_after_a_store_backoff_other_runs_come_before_the_one_that_failed(schedule, clock):
    s = schedule(retry={"backoff_coefficient": 1.0})
    for flow_id in "abc":
        s.start(flow_id, {"Total": 1})
    s.destination.answer = failed(STORE)
    tried = []
    for _ in range(7):
        calls = s.turn()
        while not calls:
            clock.advance(50)
            calls = s.turn()
        tried += [call.flow_id for call in calls]
    assert tried == ["a", "b", "c", "a", "b", "c", "a"]


@pytest.mark.spec("Y-18")
def test_a_batch_that_asks_the_store_nothing_does_not_end_its_backoff(schedule, clock):
    """A write of which every field is filtered says nothing about the store."""
    s = schedule()
    s.start("a", {"Total": 1})
    s.start("b", {"Total": 1})
    s.destination.answer = lambda call: failed(STORE)(call) if call.flow_id == "a" else filtered(call)
    s.turn_of("a")
    clock.advance(100)
    s.turn_of("b")
    s.turn_of("a")
    assert s.pending()["a", "Total"].next_attempt == "2023-11-14T22:13:20.300Z"


@pytest.mark.spec("Y-18")
def test_after_timeouts_a_transaction_has_half_as_many_statements_down_to_one(schedule, clock):
    """All plain Attributes stay one statement, what commits is acknowledged, and the retry writes only the rest."""
    s = schedule()
    s.start("a", {"Total": 1, "Note": "n", **{f"Items/{number}": number for number in range(7)}})
    s.destination.answer = failed(TIMEOUT)
    limits = []
    for _ in range(5):
        (call,) = s.turn()
        limits.append(call.limit)
        clock.advance(60_000)
    assert limits == [None, 4, 2, 1, 1]
    s.destination.answer = written
    (call,) = s.turn()
    assert s.destination.rows == {"a": {"Total": 1, "Note": "n"}}
    assert sorted(key for _, key in s.pending()) == [f"Items/{number}" for number in range(7)]
    # The limit holds for all that the run still has to write; the delay does not.
    assert [call.limit for _ in range(7) for call in s.turn()] == [1] * 7
    assert s.pending() == {}
    s.client.set_attributes("a", {"Total": 2, "Items/0": 5})
    (call,) = s.turn()
    assert call.limit is None


@pytest.mark.spec("Y-18")
@pytest.mark.parametrize("between", ["nothing", "a commit", "the same run"])
def test_three_timeouts_with_no_commit_between_back_the_store_off(schedule, clock, between):
    """It starts again with other runs than the ones that timed out."""
    s = schedule(retry={"initial_interval": 1.0})
    slow = ["a", "b", "d"]
    for flow_id in "abcde":
        if flow_id != "c" or between == "a commit":
            s.start(flow_id, {"Total": 1})
    s.destination.answer = only(slow, failed(TIMEOUT))
    if between == "the same run":
        s.destination.answer = only("a", failed(TIMEOUT))
        for _ in range(3):
            s.turn()
            clock.advance(30_000)
        assert s.writer._backoff.is_waiting() is False
        return
    calls = [call.flow_id for call in s.turn()]
    assert calls == (["a", "b", "d"] if between == "nothing" else ["a", "b", "c", "d", "e"])
    assert s.writer._backoff.is_waiting() is (between == "nothing")
    if between == "nothing":
        clock.advance(1000)
        assert s.turn()[0].flow_id == "e"


@pytest.mark.spec("Y-19")
@pytest.mark.parametrize("scope", [RUN, STORE, TIMEOUT])
def test_after_the_maximum_of_attempts_entries_are_dropped_and_later_writes_sync(schedule, clock, scope, caplog):
    """Each failed write counts, whatever failed; a later write has all its attempts again."""
    s = schedule(retry={"maximum_attempts": 3})
    s.start("a", {"Total": 1, "Note": "x"})
    s.destination.answer = failed(scope, reason="still no")
    delays(clock, s.turn, 3)
    reason = "3 attempts failed: still no"
    assert s.drops() == [("a", "Note", reason), ("a", "Total", reason)]
    assert f"Flow a, run {s.client.describe_flow('a').run_id}: attribute Note is dropped: {reason}" in caplog.text
    assert s.pending() == {}
    s.client.set_attributes("a", {"Total": 2})
    clock.advance(1000)
    s.turn_of("a")
    assert s.pending()["a", "Total"].attempts == 1
    s.destination.answer = written
    clock.advance(1000)
    s.turn_of("a")
    assert s.destination.rows == {"a": {"Total": 2}}


@pytest.mark.spec("Y-19")
def test_attempts_count_in_memory(schedule, another, clock):
    """Another process begins anew, with delays and limits too."""
    s = schedule(retry={"maximum_attempts": 3})
    s.start("a", {"Total": 1})
    s.destination.answer = failed(TIMEOUT)
    delays(clock, s.turn, 2)
    s.lease.release()
    second = another(retry={"maximum_attempts": 3})
    second.destination.answer = failed(RUN)
    (call,) = second.turn()
    assert call.limit is None
    assert second.pending()["a", "Total"].attempts == 1


@pytest.mark.spec("Y-19", "Y-25")
@pytest.mark.parametrize("scope", [RUN, STORE])
def test_entries_are_dropped_when_they_have_been_pending_for_the_total_duration(schedule, clock, scope):
    """Not later, however long the store or the run is to wait still; each has its own time, and why it was in vain."""
    s = schedule(retry={"total_duration": 60.0, "initial_interval": 300.0, "maximum_interval": 300.0})
    s.start("a", {"Total": 1})
    s.destination.answer = failed(scope)
    s.turn_of("a")
    clock.advance(30_000)
    s.client.set_attributes("a", {"Note": "late", "Total": 2})
    clock.advance(29_999)
    s.lease.keep()
    s.worker._measure()
    assert s.drops() == []
    clock.advance(1)
    s.worker._measure()
    assert s.drops() == [("a", "Total", "its retry budget is used up: no")]
    clock.advance(30_000)
    s.lease.keep()
    s.worker._measure()
    assert s.drops() == [(*each, "its retry budget is used up: no") for each in (("a", "Note"), ("a", "Total"))]
    s.destination.answer = written
    if scope is STORE:
        clock.advance(300_000)  # the store waits on, a run of which nothing is pending does not
    s.client.set_attributes("a", {"Total": 3})
    s.turn_of("a")
    assert s.destination.rows == {"a": {"Total": 3}}


@pytest.mark.spec("Y-19")
def test_an_entry_that_is_too_old_is_dropped_and_not_written(schedule, clock):
    """As after a long time without a process that syncs; what was marked later is written."""
    s = schedule()
    s.start("a", {"Total": 1})
    clock.advance(3_600_000)
    s.client.set_attributes("a", {"Note": "new"})
    s.turn_of("a")
    assert s.drops() == [("a", "Total", "its retry budget is used up")]
    assert s.destination.rows == {"a": {"Note": "new"}}


@pytest.mark.spec("Y-24", "Y-27")
def test_what_no_retry_can_cure_is_dropped_at_once(schedule):
    s = schedule()
    s.start("a", {"Total": 1})
    s.start("b", {"Total": 1})
    s.destination.answer = only("a", failed(RUN, retryable=False, reason="malformed"))
    s.turn_of("a", "b")
    assert s.drops() == [("a", "Total", "malformed")]
    assert s.pending() == {}
    samples = {kind: s.metrics.write_failures.labels(kind)._value.get() for kind in ("retryable", "non_retryable")}
    assert samples == {"retryable": 0, "non_retryable": 1}


@pytest.mark.spec("Y-18")
def test_a_fault_of_a_destination_backs_off_its_run_and_stops_nothing(schedule, clock):
    s = schedule()
    s.start("a", {"Total": 1})
    s.start("b", {"Total": 1})
    s.destination.answer = only("a", lambda call: 1 // 0)
    s.turn_of("a", "b")
    s.turn_of()
    assert s.pending()["a", "Total"].attempts == 1
    s.destination.answer = written
    clock.advance(100)
    s.turn_of("a")
