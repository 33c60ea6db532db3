"""How Flows close: natural closes wait, stops do not, and what is left can be erased (spec: FL-11, FL-14 … FL-16)."""

import sqlite3
import threading
from collections import Counter
from contextlib import closing as closed
from datetime import timedelta
from itertools import pairwise

import pytest

from dex import (
    FlowTimeoutPolicy,
    RetryPolicy,
    RPCResult,
    StartFlowOptions,
    StepMovement,
    StepOptions,
    StopFlowOptions,
    StopType,
    Wait,
    dead_end,
    force_complete,
    force_complete_if_channels_empty,
    force_fail,
    go_to,
    go_to_many,
    graceful_complete,
)
from dex.engine.flows.runtime.parts import Changes
from dex.wcl.commands.flows import DeleteMessages, PurgeFlow
from dex.wcl.errors import (
    FailedPrecondition,
    FlowClosingError,
    FlowNotActiveOrNotFoundError,
    FlowNotFoundError,
    LongPollTimeoutError,
    RequestTimeoutError,
    WorkerInvocationError,
)
from tests.engine.flows.runtime.closing import begin_close, closing
from tests.engine.flows.runtime.conftest import INSIDE, ONE_FILE, history
from tests.engine.flows.runtime.desk import (
    IN,
    ITEMS,
    OTHER,
    OUT,
    PATIENCE,
    SECRET,
    Aside,
    Await,
    Desk,
    Do,
    Gate,
    N,
    inside,
)

NOW = timedelta(0)
ONCE = StepOptions(execute_retry=RetryPolicy(maximum_attempts=1))


def fails(context):
    raise ValueError("gone wrong")


def timed(policy):
    return StartFlowOptions(timeout=timedelta(minutes=1), timeout_policy=FlowTimeoutPolicy(policy))


WAYS = {
    "graceful_complete": (lambda c, i: graceful_complete("out"), None, ("completed", "out", None)),
    "force_complete": (lambda c, i: force_complete("out"), None, ("completed", "out", None)),
    "if empty": (lambda c, i: force_complete_if_channels_empty("out", dead_end()), None, ("completed", "out", None)),
    "force_fail": (lambda c, i: force_fail("why"), None, ("failed", None, "why")),
    "exhausted": (lambda c, i: fails(c), None, ("failed", None, "gone wrong")),
    "timeout fail": (lambda c, i: go_to("Wait"), "fail", ("failed", None, "the Flow timed out")),
    "timeout cancel": (lambda c, i: go_to("Wait"), "cancel", ("canceled", None, "the Flow timed out")),
    "timeout handler": (lambda c, i: go_to("Wait"), "handler", ("completed", "handled", None)),
}
ENDS = {
    "commits": (lambda c: N.set(c, 5), None),
    "reads": (lambda c: None, None),
    "fails": (fails, WorkerInvocationError),
}


@pytest.mark.spec("FL-14")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("rpc", ["lock_n", "transact"])
def test_a_natural_close_waits_for_calls_that_were_admitted_before(client, work, clock, way, end, rpc):
    decide, policy, (status, output, error) = WAYS[way]
    flow = Desk(Do("End", decide, ONCE), Await("Wait", Wait.until(IN.for_one()), lambda c, i: dead_end()))
    flow.on_timeout = lambda context: force_complete("handled")
    client.start_flow(flow, "d", options=timed(policy) if policy else None)
    answer, raises = ENDS[end]
    with inside(client, getattr(flow, rpc), "d", answer) as call:
        work()
        if policy is not None:
            clock.advance(60_000)
            work()
        described = client.describe_flow("d")
        assert (described.status, described.closing, described.pending_steps) == ("running", True, 0)
        with pytest.raises(LongPollTimeoutError):
            client.wait_for_flow("d", NOW)
        work()
        assert client.describe_flow("d").status == "running"
    if raises is None:
        call.result()
    else:
        with pytest.raises(raises):
            call.result()
    result = client.wait_for_flow("d", NOW)
    assert (result.status, result.output) == (status, output)
    assert result.error == error or error in result.error
    assert client.get_attributes("d") == ({"N": 5} if end == "commits" else {})
    assert history(client, "d")[-1].kind == "closed"
    assert client.describe_flow("d").closing is False


@pytest.mark.spec("FL-14")
def test_a_call_that_runs_out_of_time_holds_a_close_open_until_then(client, work):
    flow = Desk(Do("End", lambda c, i: force_complete()), starts=False)
    flow.does["go"] = lambda c: RPCResult(None, [StepMovement.of("End")])
    client.start_flow(flow, "d")
    gate = flow.does["slow"] = Gate()
    call = Aside(client.invoke_rpc, flow.hurry, "d", "slow")
    assert gate.inside.wait(20)
    client.invoke_rpc(flow.call, "d", "go")
    work()
    with pytest.raises(RequestTimeoutError):
        call.result()
    assert client.wait_for_flow("d", NOW).status == "completed"
    gate.open.set()


@pytest.mark.spec("FL-14")
@INSIDE
def test_the_last_of_several_calls_ends_the_close(client, work):
    flow = Desk()
    client.start_flow(flow, "d")
    with inside(client, flow.transact, "d"):
        with inside(client, flow.lock_other, "d"), closing(client, flow, "d"):
            pass
        assert client.describe_flow("d").closing
    assert client.wait_for_flow("d", NOW).status == "completed"


@pytest.mark.spec("FL-14")
def test_a_plain_rpc_holds_no_close_open_and_loses_its_commit(client, work):
    flow = Desk(Do("End", lambda c, i: force_complete()))
    client.start_flow(flow, "d")
    with inside(client, flow.call, "d", lambda c: N.set(c, 1)) as call:
        work()
        assert client.wait_for_flow("d", NOW).status == "completed"
    with pytest.raises(FlowNotActiveOrNotFoundError):
        call.result()
    assert client.get_attributes("d") == {}


@pytest.mark.spec("FL-15")
@INSIDE
def test_while_a_close_waits_writes_are_accepted_and_start_no_step(client, work):
    flow = Desk(Do("A", lambda c, i: N.set(c, 99) or dead_end()), starts=False)
    client.start_flow(flow, "d")
    flow.does["write"] = lambda c: OTHER.set(c, 2) or RPCResult("ok", [StepMovement.of("A")])
    with closing(client, flow, "d", lambda c: ITEMS.set(c, "x", None)):
        client.set_attributes("d", {"Notes/a": "n"})
        client.publish(IN, "d", 1)
        assert client.invoke_rpc(flow.call, "d", "write") == "ok"
        work()
        assert client.get_attributes("d") == {"Notes/a": "n", "Other": 2}
        described = client.describe_flow("d")
        assert (described.status, described.steps) == ("running", 0)
    assert client.wait_for_flow("d", NOW).status == "completed"
    assert [event.kind for event in history(client, "d")][1:-1] == [
        "timeout",
        "set_attributes",
        "published",
        "rpc",
        "rpc",
    ]


@pytest.mark.spec("FL-15")
@INSIDE
def test_while_a_close_waits_the_rest_is_refused_with_failed_precondition(client, stored):
    flow = Desk(Do("A", lambda c, i: dead_end()), starts=False)
    client.start_flow(flow, "d")
    (message_id,) = client.publish(IN, "d", 1)
    flow.does["h"] = lambda c: N.set(c, 1)
    with closing(client, flow, "d"):
        before = stored()
        for refused in (
            lambda: client.invoke_rpc(flow.transact, "d", "h"),
            lambda: client.invoke_rpc(flow.lock_other, "d", "h"),
            lambda: client.invoke_rpc(flow.lock_n, "d", "h"),
            lambda: client.wait_for_step_completion("d", "A"),
            lambda: client.wait_for_attribute_equal(N, "d", None),
            lambda: client.execute(DeleteMessages(flow_id="d", channel="In", message_ids=[message_id])),
        ):
            with pytest.raises(FlowClosingError) as caught:
                refused()
            assert (caught.value.status, caught.value.flow_id) == (412, "d")
        assert stored() == before


@pytest.mark.spec("FL-15", "FL-10")
@INSIDE
def test_who_waited_before_the_close_gets_what_came_with_it(client, work, monkeypatch):
    """The deciding step is over, and its attribute is set, with the commit that begins to close."""
    flow = Desk(Do("End", lambda c, i: OTHER.set(c, 3) or force_complete()))
    client.start_flow(flow, "d")
    parts = client.engine.flows.parts
    seen, looks, all_looked = Changes.seen, Counter(), threading.Event()

    def look(changes):
        if changes not in (parts.changes, parts.work):
            looks[threading.get_ident()] += 1
            if len(looks) == 3 and min(looks.values()) > 1:
                all_looked.set()
        return seen(changes)

    monkeypatch.setattr(Changes, "seen", look)
    step, reached, never = (
        Aside(client.wait_for_step_completion, "d", "End"),
        Aside(client.wait_for_attribute_equal, OTHER, "d", 3),
        Aside(client.wait_for_attribute_equal, OTHER, "d", 4),
    )
    assert all_looked.wait(PATIENCE)
    with inside(client, flow.lock_n, "d"):
        work()
        assert step.result().status == "completed"
        reached.result()
        with pytest.raises(FlowClosingError):
            never.result()


@pytest.mark.spec("FL-16", "FL-11")
@pytest.mark.parametrize(("stop", "status"), [("cancel", "canceled"), ("fail", "failed"), ("terminate", "terminated")])
@pytest.mark.parametrize("waits", [False, True])
@INSIDE
def test_a_stop_closes_at_once_also_while_a_close_waits(client, work, stop, status, waits):
    flow = Desk(Await("A", Wait.until(IN.for_one()), lambda c, i: dead_end()))
    client.start_flow(flow, "d")
    work()
    with closing(client, flow, "d", lambda c: N.set(c, 1)) if waits else inside(client, flow.lock_n, "d") as call:
        client.stop_flow("d", StopFlowOptions(StopType(stop), "by hand"))
        result = client.wait_for_flow("d", NOW)
        assert (result.status, result.error, result.output) == (status, "by hand", None)
        assert client.describe_flow("d").closing is False
    if waits:
        with pytest.raises(FlowNotActiveOrNotFoundError):
            call.result()
    event = history(client, "d")[-1]
    assert (event.kind, event.detail) == ("stopped", {"status": status, "reason": "by hand"})
    assert client.describe_flow("d").status == status


@pytest.mark.spec("FL-11")
def test_a_stop_of_a_named_run_stops_no_other(client, stored):
    first = client.start_flow(Desk(), "d")
    client.stop_flow("d", StopFlowOptions(run_id=first))
    second = client.start_flow(Desk(), "d")
    before = stored()
    with pytest.raises(FlowNotActiveOrNotFoundError):
        client.stop_flow("d", StopFlowOptions(run_id=first))
    with pytest.raises(FlowNotFoundError):
        client.stop_flow("e", StopFlowOptions(run_id=second))
    assert stored() == before


@pytest.mark.spec("FL-14", "FL-08")
def test_a_graceful_end_that_another_step_brings_about_waits_too(client, work):
    """The step that ends last did not ask for a close, and read its run before the other one did."""
    gates = [Gate(lambda c: graceful_complete(1)), Gate(lambda c: dead_end())]
    flow = Desk(
        Do("Start", lambda c, i: go_to_many(StepMovement.of("A"), StepMovement.of("B"))),
        Do("A", lambda c, i: gates[0](c)),
        Do("B", lambda c, i: gates[1](c)),
    )
    client.start_flow(flow, "d")
    worker = Aside(work)
    for gate in gates:
        assert gate.inside.wait(20)
    with inside(client, flow.lock_n, "d", lambda c: N.set(c, 1)) as call:
        gates[0].open.set()
        client.wait_for_step_completion("d", "A")
        gates[1].open.set()
        worker.result()
        assert client.describe_flow("d").closing
    call.result()
    assert client.wait_for_flow("d", NOW).output == 1


@pytest.mark.spec("FL-14")
def test_a_decision_that_closes_nothing_turns_no_call_away(client, work):
    flow = Desk(
        Do("Start", lambda c, i: go_to_many(StepMovement.of("A"), StepMovement.of("Wait"))),
        Do("A", lambda c, i: graceful_complete(1)),
        Await("Wait", Wait.until(IN.for_one()), lambda c, i: dead_end()),
    )
    client.start_flow(flow, "d")
    with inside(client, flow.lock_n, "d"):
        work()
        assert client.describe_flow("d").closing is False
        flow.does["h"] = lambda c: "ran"
        assert client.invoke_rpc(flow.transact, "d", "h") == "ran"
    assert client.describe_flow("d").status == "running"


@pytest.mark.spec("FL-14", "FL-08")
@INSIDE
def test_a_close_that_a_crash_left_waiting_is_ended_by_the_next_worker(client, another, data_dir):
    flow = Desk()
    client.start_flow(flow, "d")
    gate = flow.does["gate"] = Gate(lambda c: N.set(c, 1))
    call = Aside(client.invoke_rpc, flow.lock_n, "d", "gate")
    assert gate.inside.wait(20)
    begin_close(client, "d")
    # The first engine is as good as killed: it takes no part any more, and the system has dropped what it held.
    client.engine.flows.parts.locks.leave_file()
    other = another()
    assert other.describe_flow("d").closing
    other.engine.flows.worker.run(until_idle=True)
    assert other.wait_for_flow("d", NOW).status == "completed"
    gate.open.set()
    with pytest.raises(FlowNotActiveOrNotFoundError):
        call.result()
    assert other.get_attributes("d") == {}


@pytest.mark.spec("FL-14")
@ONE_FILE
def test_a_close_waits_for_a_call_of_another_process(client, another):
    flow = Desk()
    client.start_flow(flow, "d")
    gate = flow.does["gate"] = Gate(lambda c: N.set(c, 1))
    call = Aside(client.invoke_rpc, flow.lock_n, "d", "gate")
    assert gate.inside.wait(20)
    other = another()
    other.register(flow)
    begin_close(other, "d")
    other.engine.flows.worker.run(until_idle=True)
    assert other.describe_flow("d").closing
    gate.open.set()
    call.result()
    other.engine.flows.worker.run(until_idle=True)
    assert other.wait_for_flow("d", NOW).status == "completed"
    assert other.get_attributes("d") == {"N": 1}


@pytest.mark.spec("FL-14")
@pytest.mark.parametrize("policy", list(FlowTimeoutPolicy))
def test_a_timeout_comes_at_its_time_and_goes_by_the_policy(client, work, clock, policy, kinds):
    flow = Desk(Await("Wait", Wait.until(IN.for_one()), lambda c, i: graceful_complete("late")))
    flow.on_timeout = lambda context: N.set(context, 1) or go_to("Wait", None)
    client.start_flow(flow, "d", options=timed(policy))
    work()
    clock.advance(59_999)
    work()
    assert client.describe_flow("d").status == "running"
    clock.advance(1)
    work()
    if policy is not FlowTimeoutPolicy.HANDLER:
        assert client.wait_for_flow("d", NOW).status == {"fail": "failed", "cancel": "canceled"}[policy]
        assert kinds("d") == ["started", "step", "timeout"]
        return
    clock.advance(600_000)
    work()
    described = client.describe_flow("d")
    assert (described.status, described.pending_steps, described.timeout_at) == ("running", 2, None)
    assert client.get_attributes("d") == {"N": 1}


@pytest.mark.spec("FL-14")
@pytest.mark.parametrize("open_step", [False, True])
def test_a_timeout_handler_may_complete_gracefully(client, work, clock, open_step):
    flow = Desk(Await("Wait", Wait.until(IN.for_one()), lambda c, i: dead_end()), starts=open_step)
    flow.on_timeout = lambda context: graceful_complete("in time")
    client.start_flow(flow, "d", options=timed("handler"))
    work()
    clock.advance(60_000)
    work()
    if open_step:
        assert client.describe_flow("d").status == "running"
        client.publish(IN, "d", 1)
        work()
    assert client.wait_for_flow("d", NOW).output == "in time"


@pytest.mark.spec("FL-14")
@pytest.mark.parametrize(
    "wrong", [fails, lambda c: None, lambda c: go_to("Nowhere"), lambda c: c.record_event("\ud800")]
)
def test_a_timeout_handler_that_fails_fails_the_flow(client, work, clock, wrong):
    flow = Desk()
    flow.on_timeout = wrong
    client.start_flow(flow, "d", options=timed("handler"))
    clock.advance(60_000)
    work()
    result = client.wait_for_flow("d", NOW)
    assert (result.status, "timed out" in result.error) == ("failed", True)


@pytest.mark.spec("FL-14")
def test_the_timeout_counts_from_the_delayed_start(client, work, clock):
    client.start_flow(
        Desk(), "d", options=StartFlowOptions(timeout=timedelta(seconds=1), start_delay=timedelta(hours=1))
    )
    clock.advance(3_600_999)
    work()
    assert client.describe_flow("d").status == "running"
    clock.advance(1)
    work()
    assert client.describe_flow("d").status == "failed"


def bytes_of(path):
    with closed(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@pytest.mark.spec("FL-16")
def test_hard_delete_attributes_of_a_closed_run_are_erased_with_all_their_values(client, local, clock, stored):
    flow = Desk()
    options = StartFlowOptions().with_attribute(SECRET, "first-secret").with_attribute(N, 1)
    client.start_flow(flow, "d", options=options)
    client.set_attributes("d", {"Secret": "second-secret", "Notes/a": "third-secret", "Notes/b": "kept"})
    client.stop_flow("d")
    values = {data for _, data in stored()["flow_values"]}
    assert any(b"first-secret" in data for data in values)
    client.set_attributes("d", {"Secret": None, "Notes/a": None})
    assert client.get_attributes("d") == {"N": 1, "Notes/b": "kept"}
    left = b"".join(data for _, data in stored()["flow_values"])
    assert not any(word in left for word in (b"first", b"second", b"third"))
    event = history(client, "d")[-1]
    assert (event.kind, sorted(event.attributes)) == ("erased", ["Notes/a", "Secret"])
    described = client.describe_flow("d")
    assert (described.status, described.history_events) == ("canceled", 4)
    with closed(sqlite3.connect(local.path)) as connection:
        connection.execute("DELETE FROM journal WHERE seq < (SELECT max(seq) FROM journal)")
        connection.commit()
    found = bytes_of(local.path)
    assert not any(word in found for word in (b"first-secret", b"second-secret", b"third-secret"))


@pytest.mark.spec("FL-16")
@pytest.mark.parametrize(
    "attributes",
    [
        {"Secret": "new"},
        {"Secret": None, "N": None},
        {"N": None},
        {"Secret": None, "Notes/unset": None},
        {"Secret": None, "N": 5},
    ],
)
def test_every_other_write_to_a_closed_run_is_refused_whole(client, stored, attributes):
    client.start_flow(Desk(), "d", options=StartFlowOptions().with_attribute(SECRET, "s").with_attribute(N, 1))
    client.stop_flow("d")
    before = stored()
    with pytest.raises(FlowNotActiveOrNotFoundError) as caught:
        client.set_attributes("d", attributes)
    assert caught.value.status == 404
    assert stored() == before


@pytest.mark.spec("FL-16")
def test_a_running_flow_deletes_hard_delete_attributes_as_others(client):
    client.start_flow(Desk(), "d", options=StartFlowOptions().with_attribute(SECRET, "s"))
    client.set_attributes("d", {"Secret": None})
    assert client.get_attributes("d") == {}
    assert history(client, "d")[-1].kind == "set_attributes"


@pytest.mark.spec("FL-16", "FL-11")
def test_a_purge_needs_a_closed_run_and_leaves_no_row_behind(client, work, stored, settle):
    flow = Desk(Await("A", Wait.until(IN.for_n(2)), lambda c, i: dead_end()))
    client.execute(PurgeFlow(flow_id="other", run_id=_closed(client, "other")))
    settle()
    empty = {name: rows for name, rows in stored().items() if name != "journal"}
    run_id = client.start_flow(flow, "d", options=StartFlowOptions().with_attribute(SECRET, "s"))
    with pytest.raises(FailedPrecondition):
        client.execute(PurgeFlow(flow_id="d", run_id=run_id))
    client.set_attributes("d", {"Secret": "t", "Items/a": {"name": "x"}, "N": None})
    client.set_attributes("d", {"N": 1})
    work()
    client.publish(IN, "d", 1, 2, 3)
    work()
    client.stop_flow("d")
    client.set_attributes("d", {"Secret": None})
    client.execute(PurgeFlow(flow_id="d", run_id=run_id))
    settle()
    assert {name: rows for name, rows in stored().items() if name != "journal"} == empty
    for gone in (lambda: client.describe_flow("d"), lambda: client.set_attributes("d", {"Secret": None})):
        with pytest.raises(FlowNotFoundError):
            gone()


def _closed(client, flow_id):
    run_id = client.start_flow(Desk(), flow_id)
    client.stop_flow(flow_id)
    return run_id


@pytest.mark.spec("FL-16")
@INSIDE
def test_what_a_purged_run_held_is_erased_in_passes_of_a_few_rows(client, still, stored):
    """It is gone at once all the same, and its Flow ID is free."""
    run_id = client.start_flow(Desk(), "d")
    for number in range(100):
        client.set_attributes("d", {f"Notes/{number}": "n", "N": number})
    client.publish(OUT, "d", *range(100))
    client.stop_flow("d")
    client.execute(PurgeFlow(flow_id="d", run_id=run_id))
    with pytest.raises(FlowNotFoundError):
        client.describe_flow("d")
    client.start_flow(Desk(), "d")
    left = [_rows(stored())]
    while still._writer.run(still._housekeeping.one_pass(0)):
        left.append(_rows(stored()))
    assert left[0] > 500
    assert all(0 < before - after <= 33 for before, after in pairwise(left))
    assert _rows(stored()) == 2
    assert client.set_attributes("d", {"N": 1}) is None


def _rows(stored) -> int:
    return sum(len(stored[name]) for name in ("runs", "history", "steps", "messages", "attributes", "flow_values"))


@pytest.mark.spec("FL-16")
def test_a_purge_spares_the_other_runs_of_the_flow_id(client):
    first = client.start_flow(Desk(), "d", options=StartFlowOptions().with_attribute(N, 1))
    client.stop_flow("d")
    second = client.start_flow(Desk(), "d", options=StartFlowOptions().with_attribute(N, 2))
    client.execute(PurgeFlow(flow_id="d", run_id=first))
    assert client.describe_flow("d").run_id == second
    assert client.get_attributes("d") == {"N": 2}
