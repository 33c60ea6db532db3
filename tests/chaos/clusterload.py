"""Clients of a cluster that record what they did and what came of it, and what must hold of that whatever broke."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any, NamedTuple

from dex.engine.client import Client
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.samples.chunked_subscribers import CURRENT, ChunkedSubscribers, Subscriber
from dex.wcl.commands import (
    MAX_PAGE,
    AppendRecords,
    DefineFeed,
    DefineStateStore,
    FeedRecord,
    GetRow,
    NamedKey,
    PageRecords,
    PageRows,
    PutRow,
)
from dex.wcl.commands.cluster import ShowCluster
from dex.wcl.errors import Conflict, RPCLockConflict, Unavailable
from tests.chaos.counters import FLOWS, Counters
from tests.chaos.registers import NOTHING, Operation, violation
from tests.clusterprocesses import ProcessCluster

_KEYS = ("x", "y", "z")
_TIMEOUT_SECONDS = 20.0
_STRICT_MS = 5000
# How many of those who want it know a badge: most claims are in vain.
_BADGES = 20


class Seen(NamedTuple):
    """What a node has in the end."""

    registers: dict[bytes, bytes]
    claims: dict[bytes, int]
    records: list[bytes]
    subscribers: list[Subscriber]
    counters: dict[str, int]


class Load:
    """Threads that write and read through all endpoints until they are stopped."""

    def __init__(self, cluster: ProcessCluster, counters: Counters, seed: int) -> None:
        self._cluster = cluster
        self._counters = counters
        self._seed = seed
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._numbers = iter(range(10**9))
        self._lock = threading.Lock()
        self.errors: list[Exception] = []
        self.registers: list[Operation] = []
        self.claims: dict[bytes, int] = {}
        self.records: list[bytes] = []
        self.unsure_records: set[bytes] = set()
        self.subscribers: list[Subscriber] = []
        self.unsure_subscribers: list[str] = []
        self.counted: list[tuple[str, int]] = []
        self.unsure_counts: list[str] = []
        self.settled: dict[str, int] = {}
        self.unavailable = 0

    @property
    def count(self) -> int:
        """How many operations were answered."""
        kept: tuple[Sized, ...] = (self.registers, self.claims, self.records, self.subscribers, self.counted)
        return sum(map(len, kept))

    def begin(self) -> None:
        """Define what is needed, and begin."""
        with self._cluster["a"].engine() as engine:
            engine.execute(DefineStateStore(name="registers"))
            engine.execute(DefineStateStore(name="claims", named_keys=[NamedKey("badge", unique=True)]))
            engine.execute(DefineFeed(name="records"))
            ChunkedSubscribers(Client(engine)).run.start()
            self._counters.start(Client(engine))
        twice = (self._write, self._read, self._claim, self._register, self._count)
        for number, work in enumerate((*twice, *twice, self._append)):
            thread = threading.Thread(target=self._run, args=(work, number))
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Finish what is under way."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[[RemoteEngine, random.Random], None], number: int) -> None:
        chance = random.Random(self._seed * 100 + number)
        engines = [self._engine(chance) for _ in range(3)]
        while not self._stop.is_set():
            try:
                work(chance.choice(engines), chance)
            except Exception as error:  # noqa: BLE001  # told in the end
                self.errors.append(error)
                break
        for engine in engines:
            engine.close()

    def _engine(self, chance: random.Random) -> RemoteEngine:
        urls = [node.url for node in self._cluster.nodes.values()]
        chance.shuffle(urls)
        return RemoteEngine(parse_endpoints(",".join(urls)), timeout=_TIMEOUT_SECONDS, own_ids=True)

    def _number(self) -> int:
        with self._lock:
            return next(self._numbers)

    def _write(self, engine: RemoteEngine, chance: random.Random) -> None:
        key, value = chance.choice(_KEYS), b"%d" % self._number()
        begun = time.monotonic()
        try:
            engine.execute(PutRow(store="registers", key=key.encode(), payload=value))
        except Unavailable:
            self.unavailable += 1
            self.registers.append(Operation(key, "write", value, begun))
            return
        self.registers.append(Operation(key, "write", value, begun, time.monotonic()))

    def _read(self, engine: RemoteEngine, chance: random.Random) -> None:
        key = chance.choice(_KEYS)
        begun = time.monotonic()
        try:
            row = engine.execute(GetRow(store="registers", key=key.encode(), strict=True, wait_ms=_STRICT_MS))
        except Unavailable:
            self.unavailable += 1
            return
        except Conflict:  # it is behind
            return
        value = NOTHING if row is None else row.payload
        self.registers.append(Operation(key, "read", value, begun, time.monotonic()))

    def _claim(self, engine: RemoteEngine, chance: random.Random) -> None:
        key, badge = b"c%d" % self._number(), chance.randrange(_BADGES)
        try:
            engine.execute(PutRow(store="claims", key=key, named={"badge": badge}))
        except Unavailable:
            self.unavailable += 1
        except Conflict:
            self._stop.wait(0.05)
        else:
            self.claims[key] = badge

    def _append(self, engine: RemoteEngine, _chance: random.Random) -> None:
        key = b"r%d" % self._number()
        try:
            engine.execute(AppendRecords(feed="records", records=[FeedRecord(key=key)]))
        except Unavailable:
            self.unavailable += 1
            self.unsure_records.add(key)
        else:
            self.records.append(key)

    def _register(self, engine: RemoteEngine, _chance: random.Random) -> None:
        subscriber_id = f"s{self._number()}"
        try:
            self.subscribers.append(ChunkedSubscribers(Client(engine)).register(subscriber_id, "here"))
        except RPCLockConflict:  # a call that waits for the journal holds its locks for longer than is tried again
            self.unavailable += 1
        except Unavailable:
            self.unavailable += 1
            self.unsure_subscribers.append(subscriber_id)

    def _count(self, engine: RemoteEngine, chance: random.Random) -> None:
        flow_id = chance.choice(FLOWS)
        try:
            self.counted.append((flow_id, self._counters.count(Client(engine), flow_id)))
        except Unavailable:
            self.unavailable += 1
            self.unsure_counts.append(flow_id)
        except RPCLockConflict:  # as in `_register`
            self.unavailable += 1

    def settle(self) -> None:
        """Write once more what is synced, and wait until its rows have it."""
        with self._cluster["a"].engine() as engine:
            self._before = engine.execute(ShowCluster())
            self.settled = self._counters.settle(Client(engine))

    def seen_by(self, name: str) -> Seen:
        """Give what a node has."""
        with self._cluster[name].engine() as engine:
            registers = engine.execute(PageRows(store="registers", limit=MAX_PAGE)).rows
            claims = engine.execute(PageRows(store="claims", limit=MAX_PAGE)).rows
            return Seen(
                {row.key: row.payload for row in registers},
                {row.key: row.named["badge"] for row in claims},  # type: ignore[misc]  # numbers all of them
                _records(engine),
                _subscribers(ChunkedSubscribers(Client(engine))),
                self._counters.values(Client(engine)),
            )

    def check(self, seen: Seen) -> dict[str, int]:
        """Refuse what a node has where it is not what it must be; give how much was looked at."""
        assert self.errors == [], self.errors
        assert violation(self.registers) is None
        final = time.monotonic()
        reads = [Operation(key.decode(), "read", value, final, final) for key, value in seen.registers.items()]
        assert violation([*self.registers, *reads]) is None
        assert len(set(seen.claims.values())) == len(seen.claims)
        assert self.claims.items() <= seen.claims.items()
        assert len(set(seen.records)) == len(seen.records)
        assert set(self.records) <= set(seen.records) <= {*self.records, *self.unsure_records}
        self._check_subscribers(seen.subscribers)
        self._check_counts(seen.counters)
        return {
            "reads and writes in a linearizable order": len(self.registers),
            "claims": len(seen.claims),
            "records": len(seen.records),
            "subscribers in sequence": len(seen.subscribers),
            "counts under a lock": sum(seen.counters.values()),
            "rows landed in order": self._counters.check(seen.counters, self._before),
        }

    def _check_subscribers(self, there: Sequence[Subscriber]) -> None:
        assert [subscriber.sequence for subscriber in there] == list(range(1, len(there) + 1))
        assert len({subscriber.subscriber_id for subscriber in there}) == len(there)
        known = {subscriber.subscriber_id for subscriber in self.subscribers}
        assert {subscriber.subscriber_id for subscriber in there} <= {*known, *self.unsure_subscribers}
        assert all(there[registered.sequence - 1] == registered for registered in self.subscribers)

    def _check_counts(self, counters: Mapping[str, int]) -> None:
        assert len(set(self.counted)) == len(self.counted)
        made = {(flow_id, count) for flow_id, last in counters.items() for count in range(1, last + 1)}
        assert set(self.counted) <= made
        told = {*self.counted, *self.settled.items()}
        assert len(told) == len(self.counted) + len(self.settled)
        untold = Counter(flow_id for flow_id, _ in made - told)
        assert untold <= Counter(self.unsure_counts), f"{sorted(made - told)} of {counters}: {self.unsure_counts}"


def _records(engine: RemoteEngine) -> list[bytes]:
    found: list[bytes] = []
    after = 0
    while records := engine.execute(PageRecords(feed="records", after=after, limit=MAX_PAGE)).records:
        found += [record.key for record in records]
        after = records[-1].seq
    return found


def _subscribers(subscribers: ChunkedSubscribers) -> list[Subscriber]:
    found: list[Subscriber] = []
    token: str | None = CURRENT
    while token is not None:
        page: Any = subscribers.page(token)
        found += page.subscribers
        token = page.next_page_token
    return found[::-1]
