"""A Flow that is synced, a model of what its rows must hold, and processes that sync it."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from dex import Attribute, AttributeMap, Flow, FlowConfig, PersistenceSchema, StartFlowOptions, TimeTravelOptions
from dex import TimeTravelTo as To
from dex.engine.client import Client
from dex.wcl.errors import FailedPrecondition
from tests.chaos.children import Child

TABLES = """
CREATE TABLE orders (id text PRIMARY KEY, "Total" bigint, "Note" text, "Secret" text, "Extra" bigint);
CREATE TABLE items (id text, item text, value bigint, PRIMARY KEY (id, item));
"""
PLAIN = ("Total", "Note", "Secret", "Extra")
LEASE_SECONDS = 0.8
_PR_SET_PDEATHSIG = 1
_INSTANCES = ("a", "b/c", "d")


class Order(Flow[None]):
    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(
            Attribute("Total", int, sync_to_attribute_store=True),
            Attribute("Note", str, sync_to_attribute_store=True),
            Attribute("Secret", str, sync_to_attribute_store=True, hard_delete_on_null=True),
            Attribute("Extra", int, sync_to_attribute_store=True),
            AttributeMap("Items", int, sync_to_attribute_store=True),
        )


class Model:
    """One Flow: it is changed at random, and `expected` says what its rows must hold in the end."""

    def __init__(self, client: Client, flow_id: str) -> None:
        self.flow_id = flow_id
        self.expected: dict[str, Any] = {}
        self.written_ms: dict[str, int] = {}
        self.running = False
        self._client = client
        self._states: list[dict[str, Any]] = []
        self._start()

    def change(self, chance: Random) -> None:
        """Do something with the Flow."""
        if not self.running:
            if "Secret" in self._states[-1] and chance.random() < 0.5:
                self.write({"Secret": None})
            else:
                self._start()
        elif chance.random() < 0.06:
            self._client.stop_flow(self.flow_id)
            self.running = False
        elif chance.random() < 0.12:
            self._travel(chance.randrange(len(self._states)))
        else:
            self.write(_writes(chance))

    def write(self, writes: dict[str, Any]) -> None:
        """Set attributes, or delete them by None."""
        began_ms = _now_ms()
        self._client.set_attributes(self.flow_id, writes)
        self.written_ms |= dict.fromkeys(writes, began_ms)
        state = {**self._states[-1], **writes}
        self._states.append({key: value for key, value in state.items() if value is not None})
        self._touched |= writes.keys()
        self.expected |= writes

    def _start(self) -> None:
        options = StartFlowOptions(config_override=FlowConfig(attribute_store_names=["orders"]))
        self._client.start_flow(Order(), self.flow_id, options=options)
        self.running = True
        self._states = [{}]
        self._touched: set[str] = set()

    def _travel(self, to: int) -> None:
        began_ms = _now_ms()
        try:
            self._client.time_travel(self.flow_id, TimeTravelOptions(To.EVENT, to + 1))
        except FailedPrecondition:
            return  # a value of that time was erased
        self.written_ms |= dict.fromkeys(self._touched, began_ms)
        state = self._states[to]
        self.expected |= {key: state.get(key) for key in self._touched}
        self._touched = set(state)
        self._states = [state]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _writes(chance: Random) -> dict[str, Any]:
    values: dict[str, Any] = {
        "Total": chance.randrange(10**6),
        "Note": f"n{chance.randrange(10**6)}",
        "Secret": f"s{chance.randrange(10**6)}",
        "Extra": chance.randrange(10**6),
        **{f"Items/{each}".replace("b/c", "b%2Fc"): chance.randrange(10**6) for each in _INSTANCES},
    }
    chosen = chance.sample(sorted(values), chance.randint(1, 4))
    return {key: None if chance.random() < 0.2 else values[key] for key in chosen}


class Nursery:
    """Starts processes that sync, at once: each is forked from one that has all it needs."""

    def __init__(self) -> None:
        self._child = Child("import tests.chaos.synced as synced; synced.main()")

    def start(self, data_dir: Path, dsn: str, total_seconds: float) -> int:
        """Start a process, and give its id."""
        self._child.say(f"{data_dir} {dsn} {total_seconds}")
        return int(self._child.hear())

    def close(self) -> None:
        self._child.process.kill()
        self._child.process.communicate()


def main() -> None:
    """Fork a process for each line: its data directory, its DSN and how long an entry may be pending."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    import dex.engine.sync.service  # noqa: F401  # so that those that are forked have it
    import tests.engine.sync.conftest  # noqa: F401  # as above

    for line in sys.stdin:
        directory, dsn, total_seconds = line.split()
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # never outlive a test that failed
            _sync(directory, dsn, float(total_seconds))
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


def _sync(directory: str, dsn: str, total_seconds: float) -> None:
    """Sync until killed. While the server is down, this begins again: start-up connects to every store."""
    import logging
    import threading

    from dex.engine.local import LocalEngine
    from dex.engine.sync.config import SyncConfig, SyncRetryPolicy
    from dex.engine.sync.service import Sync
    from dex.wcl.errors import DexError
    from tests.engine.sync.conftest import store_config

    logging.disable(logging.CRITICAL)
    parts = LocalEngine(directory).flows.parts
    store = store_config(dsn, maps={"Items": ("items", "item")})
    retry = SyncRetryPolicy(initial_interval=0.02, maximum_interval=0.2, total_duration=total_seconds)
    config = SyncConfig(
        stores={"orders": store}, retry=retry, lease_duration=LEASE_SECONDS, batch_size=4, schema_sync_interval=0.3
    )
    while True:
        sync = Sync(parts, config)
        try:
            sync.open()
            sync.run(threading.Event())
        except DexError:
            threading.Event().wait(0.02)
