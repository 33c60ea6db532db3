"""kill -9 of a server under load, again and again: clients recover by themselves, and each write is there once."""

import random
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from dex.engine.client import connect
from dex.wcl.errors import Unavailable
from tests.chaos.conftest import rounds
from tests.chaos.operations import SETUP, carry_out, expected, traces
from tests.directories import fast_directory
from tests.serveprocess import serving_process

CLIENTS = 3  # each of them comes to every kind of operation


def write(url: str, first: int, stop: threading.Event, acknowledged: list[int]) -> None:
    """Carry out operations, each again until it is acknowledged; nothing else than Unavailable is to be raised."""
    number = first
    with connect(url, timeout=10) as client:
        while not stop.is_set():
            try:
                carry_out(client, number)
            except Unavailable:
                continue
            acknowledged.append(number)
            number += CLIENTS


@pytest.mark.spec("K-01", "S-01", "S-07")
def test_kill_9_of_a_server_loses_nothing_acknowledged_and_doubles_nothing() -> None:
    chance = random.Random(48)
    stop, acknowledged = threading.Event(), list[int]()
    with fast_directory() as home, ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as pool:
        stack.callback(stop.set)
        server = stack.enter_context(serving_process(home))
        url, port = server.url, server.address[1]
        with connect(url) as client:
            client.wcl(SETUP)
        writing = [pool.submit(write, url, first, stop, acknowledged) for first in range(CLIENTS)]
        for number in range(rounds(10)):
            wanted = len(acknowledged) + chance.randrange(1, 30)
            while len(acknowledged) < wanted and not any(client.done() for client in writing):
                threading.Event().wait(chance.random() * 0.01)
            server.process.kill()
            server.process.wait()
            server = stack.enter_context(serving_process(home, port=port, name=f"serve{number}"))
        stop.set()
        for client in writing:
            client.result()
        with connect(url) as client:
            for done in acknowledged:
                assert traces(client, done) == expected(done)
        assert server.stop() == 0
        assert "Traceback" not in server.text
        with closing(sqlite3.connect(home / "data" / "dex.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
