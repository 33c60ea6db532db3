"""Locks: all or none, never queued, gone with whoever held them (spec: FL-07)."""

import signal
import sys
from contextlib import ExitStack
from threading import Barrier

import pytest

from dex import RPCInvokeOptions, StartFlowOptions
from dex.engine.flows.callgate import CallGate
from dex.engine.flows.locks import Locks
from dex.wcl.errors import DexError, FlowClosingError, RPCLockConflict, RpcLockConflictError
from tests.chaos.children import Child
from tests.engine.flows.runtime.conftest import INSIDE
from tests.engine.flows.runtime.desk import ITEMS, OTHER, Aside, Desk, Item, N, get, inside
from tests.engine.interrupts import Caller

_HOLD = """
import os
import sys
from dex.engine.client import connect
from tests.engine.flows.runtime.desk import Desk, N

def hold(context):
    if "fork" not in sys.argv or not os.fork():
        print("inside")
    sys.stdin.readline()
    N.set(context, 7)

flow = Desk()
flow.does["hold"] = hold
with connect(sys.argv[1]) as client:
    client.invoke_rpc(flow.lock_n, "d", "hold")
"""


@pytest.fixture
def desk(client):
    flow = Desk()
    flow.does["h"] = lambda context: "ran"
    client.start_flow(flow, "d", options=StartFlowOptions().with_attribute(N, 0))
    return flow


@pytest.mark.spec("FL-07")
def test_a_held_lock_refuses_at_once_and_the_handler_does_not_run(client, desk, stored):
    ran = []
    desk.does["h"] = lambda context: ran.append(1)
    with inside(client, desk.lock_n, "d"):
        before = stored()
        with pytest.raises(RPCLockConflict) as caught:
            client.invoke_rpc(desk.lock_n, "d", "h")
        assert (caught.value.reason, caught.value.locks, caught.value.status) == ("lock", ["N"], 409)
        assert ran == []
        assert stored() == before
    assert RPCLockConflict is RpcLockConflictError
    client.invoke_rpc(desk.lock_n, "d", "h")
    assert ran == [1]


@pytest.mark.spec("FL-07")
def test_a_call_that_cannot_have_all_its_locks_holds_none_of_them(client, desk):
    with inside(client, desk.lock_n, "d"):
        with pytest.raises(RPCLockConflict):
            client.invoke_rpc(desk.lock_both, "d", "h")
        assert client.invoke_rpc(desk.lock_other, "d", "h") == "ran"
    assert client.invoke_rpc(desk.lock_both, "d", "h") == "ran"


@pytest.mark.spec("FL-07")
def test_locks_are_cooperative_and_of_one_attribute_of_one_flow(client, desk):
    client.start_flow(desk, "e")
    with inside(client, desk.lock_n, "d"):
        assert client.invoke_rpc(desk.call, "d", "h") == "ran"
        assert client.invoke_rpc(desk.transact, "d", "h") == "ran"
        assert client.invoke_rpc(desk.lock_other, "d", "h") == "ran"
        assert client.invoke_rpc(desk.lock_n, "e", "h") == "ran"
        client.set_attributes("d", {"Other": 1})


@pytest.mark.spec("FL-07")
def test_instances_of_a_map_are_locked_one_by_one(client, desk):
    def options(*instances):
        return RPCInvokeOptions(lock_attribute_map_instances=[ITEMS.lock(i) for i in instances])

    with ExitStack() as stack:
        stack.enter_context(inside(client, desk.lock_n, "d"))
        desk.does["a"] = lambda context: client.invoke_rpc(desk.call, "d", "h", options("b", "c"))
        assert client.invoke_rpc(desk.call, "d", "a", options("a")) == "ran"
        desk.does["a"] = lambda context: client.invoke_rpc(desk.call, "d", "h", options("b", "a"))
        with pytest.raises(RPCLockConflict) as caught:
            client.invoke_rpc(desk.call, "d", "a", options("a"))
        assert caught.value.locks == ["Items/a"]


@pytest.mark.spec("FL-07", "FL-06")
@pytest.mark.parametrize("end", [lambda c: 1 / 0, lambda c: sys.exit(1), lambda c: object(), lambda c: N.set(c, "x")])
def test_a_lock_is_free_again_however_the_handler_ends(client, desk, end):
    """Case 34: an RPC that locks and raises."""
    for _ in range(3):
        desk.does["bad"] = end
        with pytest.raises(DexError):
            client.invoke_rpc(desk.lock_n, "d", "bad")
        assert client.invoke_rpc(desk.add_one, "d")
    assert client.get_attribute(N, "d") == 3


@pytest.mark.spec("FL-07")
@INSIDE
def test_a_lock_is_free_again_after_an_interrupt(client, desk):
    def interrupted(context):
        raise KeyboardInterrupt

    desk.does["bad"] = interrupted
    with pytest.raises(KeyboardInterrupt):
        client.invoke_rpc(desk.lock_n, "d", "bad")
    assert client.invoke_rpc(desk.add_one, "d") == 1


@pytest.mark.spec("FL-07")
@pytest.mark.parametrize("file", ["/engine/writer.py", "/engine/flows/locks.py", "/engine/flows/callgate.py"])
@INSIDE
def test_an_interrupt_at_any_line_of_a_locking_call_leaves_no_lock(client, desk, another, file):
    """Neither this process nor another one is kept out."""
    mine, others, line = another(), another(), 0
    while True:
        line += 1
        call = Caller(lambda: mine.invoke_rpc(desk.add_one, "d"), (file, line)).end()
        interrupted, call.error = call.interrupted, None  # with its traceback, as when an interrupt has been dealt with
        before = client.get_attribute(N, "d")
        assert others.invoke_rpc(desk.add_one, "d") == before + 1
        assert mine.invoke_rpc(desk.add_one, "d") == before + 2
        if not interrupted:
            break
    assert line > 20


@pytest.mark.spec("FL-07")
def test_of_100_increments_at_once_the_accepted_ones_are_the_value(client, desk):
    """Case 33: losers are told at once."""
    begin = Barrier(20)

    def add_five():
        begin.wait()
        won = 0
        for _ in range(5):
            try:
                client.invoke_rpc(desk.add_one, "d")
            except RPCLockConflict:
                continue
            won += 1
        return won

    threads = [Aside(add_five) for _ in range(20)]
    won = sum(thread.result() for thread in threads)
    assert client.get_attribute(N, "d") == won > 0


@pytest.mark.spec("FL-07")
def test_with_a_retry_of_conflicts_all_100_increments_count(client, desk, another):
    """Case 33, over two engines on one directory, as two processes are."""
    clients = [client, another()]

    def add(number):
        mine = clients[number % 2]
        flow = Desk()
        for _ in range(5):
            while True:
                try:
                    mine.invoke_rpc(flow.add_one, "d")
                except RPCLockConflict:
                    continue
                break

    for thread in [Aside(add, number) for number in range(20)]:
        thread.result()
    assert client.get_attribute(N, "d") == 100


@pytest.mark.spec("FL-07", "FL-06")
@pytest.mark.parametrize("before", [None, 1])
@pytest.mark.parametrize("theirs", [None, 1, 5])
def test_another_process_that_wrote_a_locked_attribute_first_makes_this_call_lose(client, another, before, theirs):
    """It wrote without the lock, and the version guards against that; what is unset counts as well."""
    flow = Desk()
    client.start_flow(flow, "d")
    client.set_attributes("d", {"Other": before})
    other = another()
    with inside(client, flow.lock_other, "d", lambda c: OTHER.set(c, 9) or N.set(c, 9)) as call:
        flow.does["theirs"] = lambda context: OTHER.set(context, theirs)
        other.invoke_rpc(flow.call, "d", "theirs")
    if theirs == before:
        call.result()
        return
    with pytest.raises(RPCLockConflict) as caught:
        call.result()
    assert caught.value.locks == ["Other"]
    assert client.get_attributes("d") == ({} if theirs is None else {"Other": theirs})


@pytest.mark.spec("FL-07")
@INSIDE
def test_the_guard_is_of_the_locked_instance_only(client, another):
    flow = Desk()
    client.start_flow(flow, "d")
    options = RPCInvokeOptions([ITEMS.lock("a")], [ITEMS.load("a")])
    other = another()

    def mine(context):
        other.set_attribute(ITEMS, "d", Item("theirs"), "b")
        other.set_attributes("d", {"N": 3})
        ITEMS.set(context, "a", Item(str(get(context, N, 0))))

    flow.does["h"] = mine
    other.register(flow)
    client.invoke_rpc(flow.call, "d", "h", options)
    assert client.get_attributes("d") == {"N": 3, "Items/a": Item("0"), "Items/b": Item("theirs")}


@pytest.mark.spec("FL-07")
def test_a_lock_that_another_process_holds_refuses_at_once_and_the_handler_does_not_run(client, desk, data_dir, stored):
    ran = []
    desk.does["h"] = lambda context: ran.append(get(context, N, 0))
    with Child(_HOLD, data_dir) as holder:
        assert holder.hear() == "inside"
        before = stored()
        for bound in (desk.lock_n, desk.lock_both):
            with pytest.raises(RPCLockConflict) as caught:
                client.invoke_rpc(bound, "d", "h")
            assert caught.value.locks == ["N"]
        assert (ran, stored()) == ([], before)
        client.invoke_rpc(desk.lock_other, "d", "h")
        client.invoke_rpc(desk.call, "d", "h")
        holder.say("go on")
        holder.end()
    client.invoke_rpc(desk.lock_n, "d", "h")
    assert ran == [0, 0, 7]


@pytest.mark.spec("FL-07")
@pytest.mark.parametrize("forks", [[], ["fork"]])
def test_the_locks_of_a_killed_process_are_free_at_once(client, desk, data_dir, forks):
    """Also where a fork of it lives on."""
    with Child(_HOLD, data_dir, *forks) as holder:
        assert holder.hear() == "inside"
        holder.signal(signal.SIGKILL)
        holder.process.wait()
        assert client.invoke_rpc(desk.lock_n, "d", "h") == "ran"


@pytest.mark.spec("FL-07")
def test_a_call_that_another_process_refuses_one_lock_holds_none(client, desk, another):
    """The lock it could have is not kept from a third one."""
    second, third = another(), another()
    with inside(second, desk.lock_other, "d"):
        with pytest.raises(RPCLockConflict) as caught:
            client.invoke_rpc(desk.lock_both, "d", "h")
        assert caught.value.locks == ["Other"]
        assert third.invoke_rpc(desk.lock_n, "d", "h") == "ran"
    assert client.invoke_rpc(desk.lock_both, "d", "h") == "ran"


@pytest.mark.spec("FL-14")
@INSIDE
def test_who_asks_while_a_close_is_committed_is_admitted_after_it(client, desk):
    """Such a call then sees for itself whether the run is closing; an attempt to close may come to nothing."""
    locks = Locks(CallGate(client.engine.path.with_name("gate")))
    with locks.close("r") as held, locks.close("r"):
        assert not held
        asking = Aside(locks.admit, "r")
        asking.join(0.05)
        assert asking.is_alive()
    asking.result()
    with locks.close("r") as held:
        assert held
    assert locks.leave("r")
    assert not locks.under_way("r")


@pytest.mark.spec("FL-15")
@INSIDE
def test_a_call_that_was_admitted_after_the_close_is_refused(client, desk, monkeypatch):
    """Between its first look and its admission the run began to close."""
    from tests.engine.flows.runtime.closing import closing

    locks = client.engine.flows.parts.locks
    admit = locks.admit
    stack = ExitStack()

    def late(run_id):
        monkeypatch.setattr(locks, "admit", admit)
        stack.enter_context(closing(client, desk, "d"))
        admit(run_id)

    monkeypatch.setattr(locks, "admit", late)
    with stack, pytest.raises(FlowClosingError):
        client.invoke_rpc(desk.lock_other, "d", "h")
