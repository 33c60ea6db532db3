"""Who may write: the lease, its epoch, and what happens to writes that come late."""

from types import SimpleNamespace
from typing import Any

import pytest

from dex.engine.sync.batch import FailureScope
from dex.engine.sync.lease import Held, Lease, Rival
from dex.engine.sync.storewriter import SCOPES
from dex.wcl.errors import FailedPrecondition
from tests.engine.sync.worker.scripted import failed, fenced, written


@pytest.mark.spec("Y-16", "Y-17")
def test_one_process_holds_the_lease_and_the_epoch_rises_at_each_take_over(schedule, another, clock):
    """The cluster id is made once and kept; a renewal keeps the epoch."""
    first, second = schedule(), another()
    held = first.lease.keep()
    assert held is not None
    assert held.epoch == 1
    assert second.lease.keep() is None
    clock.advance(9_999)
    assert second.lease.keep() is None
    assert first.lease.keep().epoch == 1
    clock.advance(9_999)
    assert second.lease.keep() is None
    clock.advance(1)
    taken = second.lease.keep()
    assert (taken.cluster_id, taken.epoch) == (held.cluster_id, 2)
    assert first.lease.keep() is None
    second.lease.release()
    assert first.lease.keep().epoch == 3


@pytest.mark.spec("Y-16", "Y-26")
def test_a_clock_that_is_set_back_keeps_no_lease_of_a_dead_process_alive(schedule, another, clock):
    """Its end lies an hour ahead then. An owner that renews it goes on."""
    first, second = schedule(), another()
    first.lease.keep()
    clock.set_back(3_600_000)
    for _ in range(8):
        clock.advance(5_000)
        assert first.lease.keep().epoch == 1
        assert second.lease.keep() is None
    clock.set_back(3_600_000)
    for _ in range(6):
        clock.advance(5_000)
        assert second.lease.keep() is None
    clock.advance(1)
    assert second.lease.keep().epoch == 2
    assert first.lease.keep() is None


@pytest.mark.spec("Y-17")
def test_the_lease_is_renewed_once_a_third_of_it_has_passed(schedule, clock):
    s = schedule()
    until = s.lease.keep().until
    clock.advance(3_333)
    assert s.lease.keep().until == until
    clock.advance(1)
    assert s.lease.keep().until == until + 3.334


@pytest.mark.spec("Y-17")
def test_a_lease_that_is_waited_for_counts_from_when_it_was_asked_for(schedule, clock, monkeypatch):
    """The file was busy for long: others see a longer lease than this process trusts in."""
    s = schedule()
    run = s.lease._writer.run
    monkeypatch.setattr(s.lease, "_writer", SimpleNamespace(run=lambda work: clock.advance(4_000) or run(work)))
    s.lease.keep()
    assert s.lease.remaining() == 6.0


@pytest.mark.spec("Y-17")
@pytest.mark.parametrize(
    ("config", "margin", "seconds"),
    [
        ({}, 2.5, 2.5),
        ({"lease_duration": 60.0}, 15.0, 15.0),
        ({"lease_duration": 60.0, "attempt_timeout": 4.0}, 15.0, 4.0),
    ],
)
def test_a_write_starts_only_with_enough_lease_left_for_its_time_and_margin(schedule, clock, config, margin, seconds):
    """The transaction's time is the smaller of syncAttemptTimeout and a quarter of the lease."""
    s = schedule(**config)
    assert (s.config.margin, s.config.transaction_timeout) == (margin, seconds)
    s.start("a", {"Total": 1})
    s.lease.keep()
    clock.advance(int((s.config.lease_duration - margin - seconds) * 1000))
    assert s.writer._submit_due(None, s.stop) is False
    assert s.writer._write(s.run_of("a")) is None
    assert s.destination.calls == []
    s.turn_of("a")


@pytest.mark.spec("Y-17")
def test_a_write_that_connects_for_too_long_is_not_started(schedule, clock):
    """The destination asks again before it sends anything; nothing is counted as a failure."""
    s = schedule()
    s.start("a", {"Total": 1})
    asked = s.destination.write

    def slow(batch, fence, limit, may_start):
        clock.advance(5_000)
        return asked(batch, fence, limit, may_start)

    s.destination.write = slow
    assert s.turn() == []
    s.destination.write = asked
    assert s.pending()["a", "Total"].attempts == 0
    s.turn_of("a")


@pytest.mark.spec("Y-16", "Y-24")
def test_a_fenced_write_is_counted_and_the_process_stops_writing(schedule, another, clock):
    """Until it has the lease again, with a higher epoch."""
    s, second = schedule(), another()
    for flow_id in "abc":
        s.start(flow_id, {"Total": 1})

    def taken_over(call):
        clock.advance(10_000)
        assert second.lease.keep().epoch == 2
        return fenced(2)(call)

    s.destination.answer = taken_over
    s.turn_of("a")
    s.turn_of()
    assert s.metrics.fenced_writes._value.get() == 1
    assert len(s.pending()) == 3
    assert [call.fence.epoch for call in second.turn()] == [2, 2, 2]
    s.client.set_attributes("a", {"Total": 2})
    second.lease.release()
    s.destination.answer = written
    assert [call.fence.epoch for call in s.turn()] == [3]


@pytest.mark.spec("Y-16", "Y-26")
def test_after_a_write_whose_end_is_not_known_the_epoch_rises(schedule):
    """What may still be carried out late is fenced off before its run is written again."""
    s = schedule()
    for flow_id in "ab":
        s.start(flow_id, {"Total": 1})
    s.destination.answer = lambda call: (
        written(call) if call.flow_id == "b" else failed(FailureScope.TIMEOUT, undecided=call.fence.epoch < 3)(call)
    )
    epochs = []
    for _ in range(6):
        epochs += [(call.flow_id, call.fence.epoch) for call in s.turn()]
        assert s.lease.held is not None  # other stores need not wait for the next look at it
        s.clock.advance(1_000)
    assert epochs == [("a", 1), ("b", 2), ("a", 2), ("a", 3), ("a", 3), ("a", 3)]


@pytest.mark.spec("Y-16")
def test_a_write_fenced_by_this_process_itself_is_neither_counted_nor_the_end(schedule):
    """It was under way with an epoch that has been spent since."""
    s = schedule()
    held = s.lease.keep()
    s.lease.spend(held.epoch)
    s.lease.keep()
    for epoch in (2, 3):
        assert s.lease.lose(epoch, has_written=True) is Rival.NONE
        assert s.lease.held.epoch == epoch
        s.lease.spend(epoch)
        assert s.lease.lose(epoch, has_written=True) is Rival.NONE
        s.lease.keep()


@pytest.mark.spec("Y-16", "Y-26")
@pytest.mark.parametrize("token", [2, 50])
def test_a_token_of_a_time_that_the_directory_does_not_know_is_outdone_at_the_take_over(schedule, another, token):
    """The data directory was restored from a backup: what rejects the first write is counted, and the next passes."""
    s = schedule()
    for flow_id in "ab":
        s.start(flow_id, {"Total": 1})
    s.destination.answer = fenced(token)
    assert [call.fence.epoch for call in s.turn()] == [1]
    assert s.metrics.fenced_writes._value.get() == 1
    assert [call.fence.epoch for call in s.turn()] == [token + 1, token + 1]
    s.lease.release()
    assert another().lease.keep().epoch == token + 2


@pytest.mark.spec("Y-16")
def test_a_token_that_another_copy_of_the_directory_makes_ends_the_writing(schedule, another, clock):
    """A process that has written is deposed: it raises no epoch of its own. Only another take-over does."""
    s = schedule()
    s.start("a", {"Total": 1})
    assert [call.fence.epoch for call in s.turn()] == [1]
    s.client.set_attributes("a", {"Total": 2})
    s.destination.answer = fenced(50)
    assert [call.fence.epoch for call in s.turn()] == [1]
    assert s.turn() == []
    clock.advance(9_000)
    assert s.turn() == []
    clock.advance(1_000)
    assert s.turn() == []
    next_ = another()
    next_.destination.answer = fenced(50)
    assert [call.fence.epoch for call in (*next_.turn(), *next_.turn())] == [2, 51]
    next_.lease.release()
    assert s.lease.keep().epoch == 52


@pytest.mark.spec("Y-16")
def test_a_process_that_was_deposed_before_its_first_write_does_not_rise_above_its_successor(
    schedule, another, clock, caplog
):
    s, second = schedule(), another()
    s.start("a", {"Total": 1})

    def taken_over(call):
        clock.advance(10_000)
        assert second.lease.keep().epoch == 2
        return fenced(2)(call)

    s.destination.answer = taken_over
    assert [call.fence.epoch for call in s.turn()] == [1]
    assert "another process has taken over" in caplog.text
    assert s.lease.keep() is None
    assert s.turn() == []


@pytest.mark.spec("Y-16", "Y-20")
def test_all_runs_of_a_flow_meet_at_one_fencing_row_and_flows_share_many(schedule):
    """One row would let one write of a store pass at a time; a late write is rejected by a newer run's."""
    s = schedule()
    scopes = set()
    for number in range(40):
        s.start(f"f{number}", {"Total": 1})
    scopes = {call.flow_id: call.fence.scope for call in s.turn()}
    assert set(scopes.values()) == {str(scope) for scope in range(SCOPES)}
    s.client.stop_flow("f1")
    s.start("f1", {"Total": 2})
    assert [call.fence.scope for call in s.turn()] == [scopes["f1"]]


@pytest.mark.spec("Y-17")
def test_an_epoch_that_is_spent_while_it_is_renewed_is_not_used(schedule, monkeypatch, clock):
    s = schedule()
    s.lease.keep()
    clock.advance(5_000)
    run = s.lease._writer.run
    monkeypatch.setattr(s.lease, "_writer", SimpleNamespace(run=lambda work: run(work) or s.lease.spend(1)))
    assert s.lease.keep() is None
    monkeypatch.undo()
    assert s.lease.keep().epoch == 2


class _Flickering(Lease):
    """A lease that another thread loses between two looks."""

    looks = 0

    @property
    def held(self) -> Held | None:
        self.looks += 1
        return Held("c", 1, 1, 1e12) if self.looks == 1 else None

    @held.setter
    def held(self, held: Any) -> None:
        pass


@pytest.mark.spec("Y-17")
def test_how_long_a_lease_lasts_can_be_asked_while_it_is_lost(local, clock):
    assert _Flickering(local._writer, clock, 1, None).remaining() > 0


@pytest.mark.spec("Y-16")
def test_the_configured_cluster_id_is_the_directorys_own(schedule, another, clock):
    first = schedule(cluster_id="one")
    assert first.lease.keep().cluster_id == "one"
    first.lease.release()
    with pytest.raises(FailedPrecondition, match="belongs to cluster 'one', not 'two'"):
        another(cluster_id="two").lease.keep()
    assert another().lease.keep().cluster_id == "one"
