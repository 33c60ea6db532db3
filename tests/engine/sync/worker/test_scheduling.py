"""What is written, when and in which order: batches, marks, runs of one Flow ID, time travel, stores that are gone."""

import pytest

from dex import TimeTravelOptions, TimeTravelTo
from dex.engine.sync.batch import FailureScope
from dex.wcl.commands.flows import SetAttributes
from tests.engine.sync.worker.conftest import EVERYWHERE
from tests.engine.sync.worker.flow import HIDDEN, Order, synced_to
from tests.engine.sync.worker.scripted import failed, written

pytestmark = EVERYWHERE


@pytest.mark.spec("Y-04")
def test_only_synced_attributes_of_runs_that_name_the_store_are_written(schedule):
    s = schedule()
    s.start("a", {"Total": 1, "Hidden": 2, "Items/x": {"n": 1}})
    s.client.start_flow(Order(), "b", options=synced_to().with_attribute(HIDDEN, 1))
    s.client.set_attributes("b", {"Total": 1})
    (call,) = s.turn()
    assert (call.batch.store, call.flow_id, call.values) == ("orders", "a", {"Total": 1, "Items/x": {"n": 1}})


@pytest.mark.spec("Y-12", "Y-13")
def test_a_transaction_is_of_one_run_and_at_most_the_batch_size(schedule):
    """Plain Attributes first, together, however their names sort among the maps."""
    s = schedule(batch_size=3)
    s.start("a", {"Total": 1, "Note": "x", "Secret": "s", **{f"Items/{number}": number for number in range(5)}})
    s.start("b", {"Total": 2})
    calls = [*s.turn(), *s.turn(), *s.turn(), *s.turn()]
    assert [(call.flow_id, list(call.values)) for call in calls] == [
        ("a", ["Note", "Secret", "Total"]),
        ("b", ["Total"]),
        ("a", ["Items/0", "Items/1", "Items/2"]),
        ("a", ["Items/3", "Items/4"]),
    ]


@pytest.mark.spec("Y-05")
def test_marks_coalesce_and_the_latest_value_is_written_once(schedule):
    s = schedule()
    s.start("a")
    for number in range(5):
        s.client.set_attributes("a", {"Total": number, "Items/x": number})
    s.client.set_attributes("a", {"Items/x": None})
    (call,) = s.turn()
    assert call.values == {"Total": 4, "Items/x": None}
    s.turn_of()


@pytest.mark.spec("Y-05", "Y-19")
def test_a_mark_made_during_its_write_is_kept_and_is_a_later_write(schedule, clock):
    """Its retry window begins anew: an attribute that is written without end is never dropped for its age."""
    s = schedule(retry={"total_duration": 60.0})
    s.start("a", {"Total": 0})

    def meanwhile(call):
        clock.advance(40_000)
        s.client.set_attributes("a", {"Total": call.values["Total"] + 1})
        return written(call)

    s.destination.answer = meanwhile
    for number in range(5):
        (call,) = s.turn()
        assert call.values == {"Total": number}
    assert s.pending()["a", "Total"].age_seconds == 0
    s.destination.answer = written
    s.turn_of("a")
    assert s.destination.rows == {"a": {"Total": 5}}
    assert (s.pending(), s.drops()) == ({}, [])


@pytest.mark.spec("Y-19")
def test_a_write_that_comes_while_an_entry_is_dropped_is_not_dropped(schedule):
    s = schedule()
    s.start("a", {"Total": 1, "Note": "x"})

    def meanwhile(call):
        s.client.set_attributes("a", {"Total": 2})
        return failed(FailureScope.RUN, retryable=False)(call)

    s.destination.answer = meanwhile
    s.turn_of("a")
    assert s.drops() == [("a", "Note", "no")]
    s.destination.answer = written
    s.turn_of("a")
    assert s.destination.rows == {"a": {"Total": 2}}


@pytest.mark.spec("Y-26")
def test_what_was_written_and_not_acknowledged_is_written_again(schedule, another, clock):
    """The process dies between the two commits; the next one writes the same values."""
    s = schedule()
    s.start("a", {"Total": 1, "Items/x": 1, "Items/y": None})
    s.lease.keep()
    record = s.writer._write(s.run_of("a"))
    assert len(record.entries) == len(s.pending()) == 3
    second = another()
    clock.advance(10_000)
    (call,) = second.turn()
    assert call.values == s.destination.take()[0].values == {"Total": 1, "Items/x": 1, "Items/y": None}
    assert second.pending() == {}


@pytest.mark.spec("Y-20")
def test_a_newer_run_waits_for_the_older_one(schedule, clock):
    """Also while the older one fails; Flows with another ID do not wait, nor does a run for another store."""
    s = schedule()
    s.start("a", {"Total": 1, "Note": "old"})
    s.client.stop_flow("a")
    s.start("a", {"Total": 2})
    s.start("b", {"Total": 3})
    s.destination.answer = lambda call: (
        failed(FailureScope.RUN) if call.values == {"Total": 1, "Note": "old"} else written
    )(call)
    s.turn_of("a", "b")
    s.turn_of()
    s.destination.answer = written
    clock.advance(100)
    s.turn_of("a")
    s.turn_of("a")
    assert s.destination.rows == {"a": {"Total": 2, "Note": "old"}, "b": {"Total": 3}}


@pytest.mark.spec("Y-20")
def test_a_newer_run_goes_on_once_the_older_ones_entries_are_dropped(schedule):
    s = schedule()
    s.start("a", {"Total": 1})
    s.client.stop_flow("a")
    s.start("a", {"Note": "new"})
    s.destination.answer = failed(FailureScope.RUN, retryable=False)
    s.turn_of("a")
    s.destination.answer = written
    s.turn_of("a")
    assert s.destination.rows == {"a": {"Note": "new"}}


@pytest.mark.spec("Y-20", "FL-16")
def test_an_erase_in_an_older_run_does_not_take_the_value_of_a_newer_one(schedule):
    """The older run's null is written first, and the newer run's value after it."""
    s = schedule()
    s.start("a", {"Secret": "old", "Note": "x"})
    old = s.client.describe_flow("a").run_id
    s.client.stop_flow("a")
    s.start("a", {"Secret": "new"})
    s.turn()
    s.turn()
    s.client.execute(SetAttributes(flow_id="a", attributes={"Secret": None}, run_id=old))
    assert [call.values for call in (*s.turn(), *s.turn())] == [{"Secret": None}, {"Secret": "new"}]
    assert s.destination.rows == {"a": {"Secret": "new", "Note": "x"}}


@pytest.mark.spec("Y-20")
def test_a_run_that_stood_in_line_looks_again_whether_it_is_its_turn(schedule, clock):
    """Meanwhile it may have failed, or an older run may have marks again."""
    s = schedule()
    s.start("a", {"Secret": "old"})
    old, old_run = s.client.describe_flow("a").run_id, s.run_of("a")
    s.client.stop_flow("a")
    s.turn()
    s.start("a", {"Total": 1})
    s.client.execute(SetAttributes(flow_id="a", attributes={"Secret": None}, run_id=old))
    assert s.writer._write(s.run_of("a")) is None
    s.destination.answer = failed(FailureScope.RUN)
    assert s.writer._write(old_run) is None
    assert s.writer._write(old_run) is None
    assert len(s.destination.calls) == 1


@pytest.mark.spec("Y-21")
def test_time_travel_rewrites_all_that_the_run_synced(schedule):
    """Also attributes and instances that were set only later, which are null then, and those deleted since."""
    s = schedule()
    s.start("a", {"Total": 1, "Items/kept": 1, "Items/deleted": 1})
    s.client.set_attributes("a", {"Total": 2, "Note": "later", "Items/later": 1, "Items/deleted": None, "Hidden": 1})
    s.turn_of("a")
    s.client.time_travel("a", TimeTravelOptions(TimeTravelTo.EVENT, 2, "oops"))
    (call,) = s.turn()
    assert call.batch.run_id == s.client.describe_flow("a").run_id
    assert call.values == {
        "Total": 1, "Note": None, "Items/kept": 1, "Items/deleted": 1, "Items/later": None,
    }  # fmt: skip


@pytest.mark.spec("Y-21", "Y-20")
def test_time_travel_waits_for_what_the_old_run_has_pending(schedule):
    s = schedule()
    s.start("a", {"Total": 1})
    s.client.set_attributes("a", {"Total": 2, "Items/x": 1})
    s.client.time_travel("a", TimeTravelOptions(TimeTravelTo.EVENT, 2, "oops"))
    assert [call.values for call in (*s.turn(), *s.turn())] == [
        {"Total": 2, "Items/x": 1}, {"Total": 1, "Items/x": None},
    ]  # fmt: skip


@pytest.mark.spec("Y-22", "Y-24")
def test_pending_writes_of_a_store_that_is_not_configured_any_more_are_dropped_at_once(schedule, clock, caplog):
    """All of them, however many there are; other stores keep theirs, and a close need not wait for them."""
    s = schedule(stores=("others",))
    s.start("a", {"Total": 1, **{f"Items/{number}": number for number in range(1200)}})
    s.lease.keep()
    s.worker._scan()
    assert s.pending() == {}
    drops = s.drops()
    assert len(drops) == 1201
    assert {reason for _, _, reason in drops} == {"the store is not configured"}
