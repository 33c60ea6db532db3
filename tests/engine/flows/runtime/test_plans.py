"""What a call costs does not depend on how many Flows, instances or past steps there are: no statement reads them all.

Every statement that the engine runs on the way is asked for its plan, so that a new one is checked as well.
"""

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from dex import (
    RPCInvokeOptions,
    RPCResult,
    StartFlowOptions,
    StepMovement,
    Timer,
    Wait,
    dead_end,
    go_to,
    graceful_complete,
)
from dex.wcl.commands.flows import DeleteMessages, GetFlowState, PageHistory
from tests.engine.flows.runtime.conftest import INSIDE
from tests.engine.flows.runtime.desk import IN, ITEMS, Await, Desk, Do, Item, N

_TABLES = ("runs", "attributes", "a", "flow_values", "v", "history", "messages", "steps")
# Holds nothing but the runs whose close waits.
_BOUNDED = "SCAN runs USING INDEX runs_closing"


@pytest.fixture
def statements(client):
    """Record every statement that the engine's connections run."""
    run = []
    engine = client.engine
    client.start_flow(Desk(), "warm")
    client.describe_flow("warm")
    take = engine._readers.take

    def traced():
        reader = take()
        reader.connection.set_trace_callback(run.append)
        return reader

    engine._readers.take = traced
    engine._writer._connection.set_trace_callback(run.append)
    return run


def plans(path, statements):
    """Give each statement with the steps of its plan."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in sorted(set(statements)):
            if statement.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE"):
                yield statement, [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]


def wrong(path, statements):
    """Give the statements that read a table from end to end, or all steps that a run ever executed."""
    for statement, plan in plans(path, statements):
        for step in plan:
            scans = f"{step} ".startswith(tuple(f"SCAN {table} " for table in _TABLES)) and step != _BOUNDED
            all_steps = step == "SEARCH steps USING PRIMARY KEY (run=?)"
            all_running = "runs_status" in step
            if scans or all_steps or all_running:
                yield statement, step


@pytest.mark.spec("FL-04", "FL-05")
@INSIDE
def test_no_statement_on_the_way_of_a_call_or_step_reads_a_whole_table(client, local, statements, work, clock):
    flow = Desk(
        Await(
            "A",
            lambda c, i: Wait.any_of(IN.for_n(2), Timer.by_duration(timedelta(minutes=1))),
            lambda c, i: N.set(c, 1) or go_to("B"),
        ),
        Do("B", lambda c, i: graceful_complete()),
    )
    options = StartFlowOptions(timeout=timedelta(hours=1), request_id="r").with_attribute(N, 1)
    client.start_flow(flow, "d", options=options)
    client.start_flow(flow, "d", options=options)
    work()
    flow.does["write"] = lambda c: ITEMS.set(c, "a", Item("a")) or RPCResult(None, [StepMovement.of("B")])
    client.invoke_rpc(flow.lock_n, "d", "write", RPCInvokeOptions([ITEMS.lock("a")], [ITEMS.load("a")]))
    client.invoke_rpc(flow.count, "d")
    client.invoke_rpc(flow.with_items, "d", "write")
    client.set_attributes("d", {"N": None})
    client.get_attribute(ITEMS, "d", "a")
    ids = client.publish(IN, "d", 1)
    client.execute(DeleteMessages(flow_id="d", channel="In", message_ids=ids))
    work()
    clock.advance(60_000)
    work()
    client.wait_for_flow("d")
    client.start_flow(flow, "d", options=StartFlowOptions(timeout=timedelta(seconds=1)))
    clock.advance(1_000)
    work()
    client.execute(PageHistory(flow_id="d"))
    client.execute(GetFlowState(flow_id="d"))
    client.start_flow(flow, "e")
    client.stop_flow("e")
    assert len(set(statements)) > 40
    assert list(wrong(local.path, statements)) == []


@pytest.mark.spec("FL-12")
@pytest.mark.parametrize(
    "query",
    [
        {"type": "Desk"},
        {"status": "running"},
        {"attributes": {"N": 1}},
        {"type": "Desk", "status": "running", "attributes": {"N": 1, "Other": "x"}},
    ],
)
@INSIDE
def test_a_search_reads_by_an_index(client, local, statements, query):
    client.search_flows(query)
    read = [statement for statement in statements if "runs" in statement]
    assert read
    for _, plan in plans(local.path, read):
        assert not [step for step in plan if step.startswith("SCAN")]


@pytest.mark.spec("FL-05", "FL-08")
def test_a_call_and_a_step_cost_the_same_among_many_instances_flows_and_past_steps(client, local, work):
    """SQLite counts its own instructions, which say more than a clock."""
    flow = Desk(Do("A", lambda c, i: go_to("A", i - 1) if i else dead_end()), starts=False)
    client.start_flow(flow, "d")
    options = RPCInvokeOptions([ITEMS.lock("a")], [ITEMS.load("a")])
    flow.does["write"] = lambda c: ITEMS.set(c, "a", Item("a")) or RPCResult(None, [StepMovement.of("A", 0)])
    flow.does["many"] = lambda c: RPCResult(None, [StepMovement.of("A", 300)])

    def cost():
        ticks = []
        connections = [local._writer._connection, *(reader.connection for reader in local._readers._idle)]
        for connection in connections:
            connection.set_progress_handler(lambda: ticks.append(1), 10)
        client.invoke_rpc(flow.call, "d", "write", options)
        work()
        for connection in connections:
            connection.set_progress_handler(None, 0)
        return len(ticks)

    cost()
    little = cost()
    client.invoke_rpc(flow.call, "d", "many")
    work()
    client.set_attributes("d", {f"Items/{number}": {"name": "x"} for number in range(500)})
    for number in range(100):
        client.start_flow(flow, f"f{number}")
    assert client.describe_flow("d").steps == 303
    cost()
    assert cost() <= little * 1.3
