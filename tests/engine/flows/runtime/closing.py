"""A Flow whose close waits: a locking RPC is under way in it, and its timeout has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dex import Context
from dex.engine.client import Client
from dex.engine.flows.records import Close, RunCommitted
from dex.engine.flows.runtime.stepping import commit_close
from tests.engine.flows.runtime.desk import Aside, Desk, inside


@contextmanager
def closing(
    client: Client, flow: Desk, flow_id: str, answer: Callable[[Context], Any] = lambda c: None
) -> Iterator[Aside]:
    """Have the Flow close inside the block; the call that holds it open ends after the block with `answer`."""
    with inside(client, flow.lock_n, flow_id, answer) as call:
        begin_close(client, flow_id)
        yield call


def begin_close(client: Client, flow_id: str) -> None:
    """Close the Flow as its timeout would; a call is under way in it, so that it waits."""
    run_id = client.describe_flow(flow_id).run_id
    record = RunCommitted(run_id=run_id, kind="timeout", close=Close("completed"))
    commit_close(client.engine.flows.parts, record)
    assert client.describe_flow(flow_id).closing
