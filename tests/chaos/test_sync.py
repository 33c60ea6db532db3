"""Sync under all that may go wrong at once: in the end every row holds its Flow's latest values.

Each seed is a run of its own. A few are in every test run; `DEX_CHAOS_ROUNDS=200 pytest tests/chaos/test_sync.py`
makes a campaign of it, and DEX_CHAOS_SEED is the first seed.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.wcl.commands.sync import SyncBacklog
from tests.chaos.children import pause
from tests.chaos.conftest import rounds
from tests.chaos.synced import LEASE_SECONDS, PLAIN, TABLES, Model, Nursery, Order
from tests.postgres import FENCING_TABLE, Database, Server, running_server

FIRST = int(os.environ.get("DEX_CHAOS_SEED", "1"))
FLOWS = 6
FAULTS = 4
PATIENCE = 60.0
_SCHEMA_CHANGES = [
    'ALTER TABLE orders DROP COLUMN IF EXISTS "Extra"',
    'ALTER TABLE orders ADD COLUMN IF NOT EXISTS "Extra" bigint',
    "ALTER TABLE orders ADD COLUMN IF NOT EXISTS \"Other\" text DEFAULT 'o'",
    'ALTER TABLE orders DROP COLUMN IF EXISTS "Other"',
    'ALTER TABLE orders ALTER "Total" TYPE numeric(20, 0)',
    'ALTER TABLE orders ALTER "Total" TYPE bigint',
    'ALTER TABLE orders ALTER "Note" TYPE varchar(40)',
    "ALTER TABLE items ALTER value TYPE numeric(20, 0)",
    "ALTER TABLE items ALTER value TYPE bigint",
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that nobody else uses, as it is stopped and paused."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


class Chaos:
    """One run: Flows that are written while things fail."""

    def __init__(self, seed: int, data_dir: Path, server: Server, nursery: Nursery) -> None:
        self.chance = Random(seed)
        self.data_dir = data_dir
        self.server = server
        self.nursery = nursery
        # Where entries live for so short a time, an outage drops some: those, and no others, may differ.
        self.total_seconds = self.chance.choice([3600.0, 3600.0, 0.4])
        name = f"chaos_{seed}_{os.getpid()}"
        server.execute(f"CREATE DATABASE {name}")
        self.database = Database(server, name)
        self.database.execute(TABLES + FENCING_TABLE)
        self.client = Client(LocalEngine(data_dir, attribute_stores=["orders"]))
        self.client.register(Order())
        self.flows = [Model(self.client, f"f{number}") for number in range(FLOWS)]
        self.owners = [self.start_sync()]

    def start_sync(self) -> int:
        return self.nursery.start(self.data_dir, self.database.dsn, self.total_seconds)

    def write(self, least: int = 5, most: int = 30) -> None:
        """Have the Flows change, quickly or slowly."""
        pause = self.chance.choice([0.0, 0.002, 0.01])
        for _ in range(self.chance.randint(least, most)):
            self.chance.choice(self.flows).change(self.chance)
            time.sleep(pause)

    def kill(self) -> None:
        """Kill a process that syncs at any moment; another begins."""
        os.kill(self.owners.pop(), signal.SIGKILL)
        self.write(0, 10)
        self.owners.append(self.start_sync())

    def take_over(self) -> None:
        """Stop the owner in its tracks beyond its lease: another process takes over, and the first comes back."""
        paused = self.owners.pop()
        pause(paused, self.data_dir / "dex.db")
        self.owners.append(self.start_sync())
        self.write()
        time.sleep(LEASE_SECONDS * 1.2)
        self.write()
        os.kill(paused, signal.SIGCONT)
        self.write()
        os.kill(paused, signal.SIGKILL)

    def restart(self) -> None:
        """Stop the server, as in order or as in a crash, and start it again."""
        self.server.stop(self.chance.choice(["fast", "immediate"]))
        self.write()
        self.server.start()

    def pause(self) -> None:
        """Have the server not answer for longer than a transaction may last."""
        self.server.pause()
        self.write()
        time.sleep(LEASE_SECONDS * self.chance.uniform(0.3, 0.9))
        self.server.resume()

    def pause_sessions(self) -> None:
        """Have single sessions not answer, which go on once others have written."""
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'dex sync'"
        sessions = [pid for (pid,) in self.database.rows(query) if self.chance.random() < 0.7]
        for pid in sessions:
            _signal(pid, signal.SIGSTOP)
        self.write()
        time.sleep(LEASE_SECONDS * self.chance.uniform(0.3, 1.5))
        self.write()
        for pid in sessions:
            _signal(pid, signal.SIGCONT)

    def hold_lock(self) -> None:
        """Hold a row that sync wants to write."""
        with psycopg.connect(self.database.dsn) as connection:
            flow = self.chance.choice(self.flows)
            connection.execute("SELECT * FROM orders WHERE id = %s FOR UPDATE", (flow.flow_id,))
            self.write()
            time.sleep(LEASE_SECONDS * self.chance.uniform(0, 0.6))

    def change_schema(self) -> None:
        """Add, drop or change columns."""
        for change in self.chance.sample(_SCHEMA_CHANGES, 3):
            self.database.execute(change)
            self.write(0, 10)

    def settle(self) -> None:
        """End all faults and let a new process write the rest; what was written to missing columns, once more."""
        self.database.execute('ALTER TABLE orders ADD COLUMN IF NOT EXISTS "Extra" bigint')
        os.kill(self.owners.pop(), signal.SIGKILL)
        for flow in self.flows:
            while not flow.running:
                flow.change(self.chance)
            flow.write({"Extra": self.chance.randrange(10**6)})
        self.owners.append(self.start_sync())
        end = time.monotonic() + PATIENCE
        while self.client.execute(SyncBacklog(limit=1)).total:
            assert time.monotonic() < end, self.client.execute(SyncBacklog(limit=5))
            time.sleep(0.01)

    def rows(self) -> dict[tuple[str, str], Any]:
        """Give what the tables hold, by Flow ID and key."""
        found = {}
        columns = ", ".join(f'"{name}"' for name in PLAIN)
        for flow_id, *values in self.database.rows(f"SELECT id, {columns} FROM orders"):
            found |= {(flow_id, name): value for name, value in zip(PLAIN, values, strict=True)}
        for flow_id, item, value in self.database.rows("SELECT id, item, value FROM items"):
            found[flow_id, f"Items/{item.replace('/', '%2F')}"] = value
        return {at: value for at, value in found.items() if value is not None}

    def expected(self) -> dict[tuple[str, str], Any]:
        """Give what the tables must hold."""
        every = {(flow.flow_id, key): value for flow in self.flows for key, value in flow.expected.items()}
        return {at: value for at, value in every.items() if value is not None}

    def dropped(self) -> set[tuple[str, str]]:
        """Give the attributes that were dropped, for their age, after they were written last."""
        query = (
            "SELECT r.flow_id, d.key, max(d.dropped_at) FROM sync_drops d JOIN runs r ON r.id = d.run"
            " WHERE d.reason LIKE 'its retry budget is used up%' GROUP BY r.flow_id, d.key"
        )
        with self.client.engine.flows.parts.readers.snapshot() as snapshot:
            drops = {(flow_id, key): at for flow_id, key, at in snapshot.connection.execute(query)}
        written = {(flow.flow_id, key): at for flow in self.flows for key, at in flow.written_ms.items()}
        return {each for each, at in drops.items() if at >= written[each]}

    def close(self) -> None:
        for process in self.owners:
            os.kill(process, signal.SIGKILL)
        self.server.resume()
        self.client.close()


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):  # the session may have ended meanwhile
        os.kill(pid, number)


_FAULTS: list[Callable[[Chaos], None]] = [
    Chaos.kill,
    Chaos.take_over,
    Chaos.restart,
    Chaos.pause,
    Chaos.pause_sessions,
    Chaos.hold_lock,
    Chaos.change_schema,
]


@pytest.mark.spec("Y-26", "Y-16", "Y-18", "Y-19", "Y-20", "Y-21", "Y-23", "FL-16")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + rounds(10)))
def test_in_the_end_every_row_holds_its_flows_latest_values(
    seed: int, data_dir: Path, server: Server, nursery: Nursery
) -> None:
    """Except for what was dropped by the rules, which is on record."""
    chaos = Chaos(seed, data_dir, server, nursery)
    try:
        chaos.write()
        faults = [chaos.chance.choice(_FAULTS) for _ in range(FAULTS)]
        for fault in faults:
            fault(chaos)
            chaos.write(0, 15)
        chaos.settle()
        rows, expected, dropped = chaos.rows(), chaos.expected(), chaos.dropped()
        if chaos.total_seconds > PATIENCE:
            assert dropped == set()
        wrong = {at for at in rows.keys() | expected.keys() if rows.get(at) != expected.get(at)}
        assert wrong <= dropped, {at: (rows.get(at), expected.get(at)) for at in sorted(wrong - dropped)}
    finally:
        chaos.close()
