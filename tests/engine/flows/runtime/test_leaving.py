"""Leaving the Flows of a file while they are called, as a node does that steps down (spec: K-07)."""

import threading

import pytest

from dex.engine.client import Client
from dex.engine.flows.builtin import default_registry
from dex.samples.chunked_subscribers import ChunkedSubscribers
from tests.engine.conftest import OpenEngine

_CALLS = 300


@pytest.mark.spec("K-07", "FL-06")
def test_a_call_that_ends_while_its_flows_are_left_is_told_what_became_of_it(open_engine: OpenEngine) -> None:
    """One that is told to have failed would be made again by the next owner."""
    engine = open_engine(registry=lambda: default_registry(""))
    subscribers = ChunkedSubscribers(Client(engine))
    subscribers.run.start()
    stopping = threading.Event()

    def leave() -> None:
        while not stopping.is_set():
            engine.leave_flows()

    leaving = threading.Thread(target=leave)
    leaving.start()
    try:
        told = [subscribers.register(f"s{number}", "here").sequence for number in range(_CALLS)]
    finally:
        stopping.set()
        leaving.join()
    assert told == list(range(1, _CALLS + 1))
